"""A function that cannot know its database does not start, and says why."""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from typing import Any

import pytest
from equerry.runtime.database import DatabaseUnknown
from equerry.runtime.environment import Environment
from equerry.runtime.http import build_http_app
from equerry.runtime.indexing import build_indexer_app
from equerry.runtime.parameters import open_parameters
from equerry.runtime.reaper import build_reaper_app
from equerry.runtime.retention import build_retention_app
from equerry.runtime.settings import (
    HttpSettings,
    IndexerSettings,
    ReaperSettings,
    RetentionSettings,
    WebSocketSettings,
    WorkerSettings,
)
from equerry.runtime.websocket import build_websocket_app
from equerry.runtime.worker import build_worker_app

from tests.contract.aws_backends import start_aws

Build = Callable[[dict[str, str]], object]
FUNCTIONS: list[tuple[Build, type[Environment]]] = [
    (build_http_app, HttpSettings),
    (build_websocket_app, WebSocketSettings),
    (build_worker_app, WorkerSettings),
    (build_reaper_app, ReaperSettings),
    (build_indexer_app, IndexerSettings),
    (build_retention_app, RetentionSettings),
]
ADDRESS = '{"host": "db.invalid", "port": 5432, "dbname": "d", "username": "u", "password": "hidden"}'


@pytest.fixture(autouse=True)
def fresh_process() -> Iterator[None]:
    """A process whose parameters nobody has read."""
    open_parameters.cache_clear()
    yield
    open_parameters.cache_clear()


def start(build: Build, settings_of: type[Environment], secret: str | None) -> object:
    """Start a function whose secret says this; None has no secret at all."""
    wanted = fields(settings_of)  # type: ignore[arg-type]  # every subclass is a dataclass
    required: dict[str, Any] = {f.name: "https://x.invalid" for f in wanted if f.default is MISSING}
    with start_aws("moto") as clients:
        arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:nowhere"
        if secret is not None:
            arn = clients.secrets.create_secret(Name="database", SecretString=secret)["ARN"]
        return build(settings_of(**required | {"database_secret_arn": arn}).to_env())


@pytest.mark.req("A-SSM-05")
@pytest.mark.parametrize(("build", "settings_of"), FUNCTIONS)
@pytest.mark.parametrize(
    ("secret", "says"), [(None, "find the specified secret"), ("{", "not JSON"), ("{}", "lacks host, port")]
)
def test_without_its_database_s_address_a_function_does_not_start(
    build: Build, settings_of: type[Environment], secret: str | None, says: str
) -> None:
    with pytest.raises(DatabaseUnknown, match="DATABASE_SECRET_ARN cannot be loaded") as refused:
        start(build, settings_of, secret)

    assert says in str(refused.value)


@pytest.mark.parametrize(("build", "settings_of"), FUNCTIONS)
def test_with_it_a_function_starts_and_connects_to_nothing(
    build: Build, settings_of: type[Environment]
) -> None:
    assert start(build, settings_of, ADDRESS)

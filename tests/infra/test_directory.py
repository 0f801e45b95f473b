"""The product's directory of projects in the template: for every function that serves people, or for none."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.loading import PROJECT, parse
from infra.reading import ConfigurationRefused
from tests.infra.stages import SynthesisedStage, as_list, synthesise

SERVING = {
    "turn.http.handle",
    "turn.websocket.handle",
    "worker.handler.handle",
    "worker.reaper.handle",
}
URL = "https://id.example.com/directory"
ARN = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:directory-AbCdEf"


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> SynthesisedStage:
    overrides: Path = tmp_path_factory.mktemp("directory") / "overrides.toml"
    overrides.write_text(f'[directory]\nurl = "{URL}"\nsecret_arn = "{ARN}"\n')
    return synthesise("production", overrides=str(overrides))


def readers_of(stage: SynthesisedStage, arn: str) -> Iterator[tuple[str, Any]]:
    for handler in stage.functions():
        for statement in stage.statements_of(handler):
            if arn in as_list(statement["Resource"]):
                yield handler, as_list(statement["Action"])


@pytest.mark.req("A-PROJ-07")
def test_every_function_that_serves_people_knows_the_directory_and_may_read_its_secret(
    connected: SynthesisedStage,
) -> None:
    told = {
        handler
        for handler, function in connected.functions().items()
        if function["Environment"]["Variables"].get("DIRECTORY_URL") == URL
    }

    assert told == SERVING
    readers = dict(readers_of(connected, ARN))
    assert readers == {handler: ["secretsmanager:GetSecretValue"] for handler in SERVING}


def test_without_one_nothing_is_named(production: SynthesisedStage) -> None:
    for function in production.functions().values():
        assert not function["Environment"]["Variables"].get("DIRECTORY_URL")


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"url": "http://id.example.com"}, r"directory\.url"),
        ({"secret_arn": ARN}, r"directory\.url: is missing"),
        ({"url": URL, "secret_arn": "s3cret"}, r"directory\.secret_arn"),
    ],
)
def test_a_directory_that_is_not_safe_to_believe_is_refused(table: dict[str, str], problem: str) -> None:
    stage = tomllib.loads((PROJECT / "infra" / "stages" / "production.toml").read_text())
    with pytest.raises(ConfigurationRefused, match=problem):
        parse(stage | {"directory": table}, source="a test")

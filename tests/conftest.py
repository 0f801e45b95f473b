"""Doors closed for every test: no network but this machine's, no real credentials, no metadata service."""

import os
import shutil
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from local.places import ROOT, Places
from local.ports import find_free_port
from local.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    from tests.deployed import Deployed

DUMMIES = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "POWERTOOLS_TRACE_DISABLED": "true",
}
REAL_CREDENTIALS = (
    "AWS_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENAI_API_KEY",
)
LOOPBACK = ("127.", "::1", "localhost")

os.environ.update(DUMMIES)
for name in REAL_CREDENTIALS:
    os.environ.pop(name, None)


STACK_TIMEOUT_S = 900
"""Whichever test comes first has the stack started and deployed in its own time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests of the stack the time that a busy machine needs to make it."""
    for item in items:
        if "deployed" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(STACK_TIMEOUT_S))


class NetworkClosed(RuntimeError):
    """A test tried to leave this machine."""


@pytest.fixture(autouse=True, scope="session")
def _closed_network() -> Iterator[None]:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not str(address[0]).startswith(LOOPBACK):
            raise NetworkClosed(f"a test tried to connect to {address}")
        connect(self, address)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", guarded)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL of this session's own, empty but for the owner's database."""
    folder = tmp_path_factory.mktemp("postgres")
    with EmbeddedPostgres(folder, find_free_port(), durable=False) as server:
        yield server


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Deployed]":
    """The whole stack on free ports: started and deployed once for all tests that use it.

    With EQUERRY_ENFORCE_IAM=true, execution roles are enforced and the emulator speaks TLS. With
    EQUERRY_KEEP_STACK=true, the stack that the environment describes is used, and left running.
    """
    # Imported here: most tests need no AWS client.
    from local.progress import Progress
    from local.stack import Stack
    from tests.deployed import Deployed

    if os.environ.get("EQUERRY_KEEP_STACK") == "true":
        kept = Places.from_env()
        Stack(kept, Progress()).up()
        yield Deployed(kept)
        return
    places = Places(
        state=tmp_path_factory.mktemp("stack"),
        chat=find_free_port(),
        issuer=find_free_port(),
        emulator=find_free_port(),
        postgres=find_free_port(),
        enforce_iam=os.environ.get("EQUERRY_ENFORCE_IAM") == "true",
    )
    stack = Stack(places, Progress(places.state / "timings.json"))
    try:
        stack.up()
        yield Deployed(places)
    finally:
        _keep_logs(places)
        stack.down()


def _keep_logs(places: Places) -> None:
    target = ROOT / "test-artefacts" / "logs"
    shutil.rmtree(target, ignore_errors=True)
    if places.logs.exists():
        shutil.copytree(places.logs, target)

"""A conversation with a project's content through the real handlers: every route, in both directions."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from local.places import ROOT
from tests.chaos.cell import App, Cell, HttpReply
from tests.contract.databases import new_organisation
from tests.contract.directory_server import DirectoryServer, serve_directory

pytestmark = [pytest.mark.postgres, pytest.mark.chaos]

BODIES: dict[tuple[str, str], object] = {
    ("post", "/conversations/{conversationId}/messages"): {"text": "And then?"},
    ("post", "/conversations/{conversationId}/interactions"): {"kind": "opened"},
}


@dataclass(frozen=True)
class Home:
    """A conversation that holds content of `apollo`, and a run in it."""

    organisation: str
    conversation_id: str
    run_id: str


def list_operations() -> list[tuple[str, str]]:
    """Return every operation on a conversation or a run, as the contract has it; what archives comes last."""
    contract = json.loads((ROOT / "docs" / "openapi.json").read_text())
    prefix = "/api/assistant"
    found = [
        (method, path.removeprefix(prefix))
        for path, operations in contract["paths"].items()
        for method in operations
        if ("{conversationId}" in path or "{runId}" in path) and method in ("get", "post", "put", "delete")
    ]
    return sorted(found, key=lambda operation: (operation[0] == "delete", operation))


@pytest.fixture(scope="module")
def directory(cell: Cell) -> Iterator[DirectoryServer]:
    with serve_directory() as server:
        cell.environment["DIRECTORY_URL"] = server.url
        cell.restart_http()
        yield server
        del cell.environment["DIRECTORY_URL"]
        cell.restart_http()


@pytest.fixture
def home(cell: Cell, directory: DirectoryServer) -> Home:
    organisation = new_organisation()
    join(cell, directory, organisation, "apollo")
    opened = cell.request("POST", "/conversations", {}, organisation=organisation)
    conversation_id = str(opened.content["conversationId"])
    path = f"/conversations/{conversation_id}/messages"
    accepted = cell.request("POST", path, {"text": "What is the plan?"}, organisation=organisation)
    assert accepted.status == 202, accepted
    mark(cell, conversation_id)
    return Home(organisation, conversation_id, str(accepted.content["runId"]))


def mark(cell: Cell, conversation_id: str) -> None:
    """Say that the conversation holds content of apollo, as a tool's result would."""
    with psycopg.connect(cell.superuser_url, autocommit=True) as session:
        session.execute(
            "UPDATE assistant_conversations SET project_ids = '{apollo}' WHERE conversation_id = %s",
            (conversation_id,),
        )


def join(cell: Cell, directory: DirectoryServer, organisation: str, *projects: str) -> None:
    """Let ada belong to these projects alone, for a function that has not asked in the last seconds."""
    directory.members[organisation, "ada"] = list(projects)
    cell.restart_http()


def call(cell: Cell, home: Home, operation: tuple[str, str], **ids: str) -> HttpReply:
    method, path = operation
    filled = path.replace("{artifactId}", str(uuid4()))
    filled = filled.replace("{conversationId}", ids.get("conversation", home.conversation_id))
    filled = filled.replace("{runId}", ids.get("run", home.run_id))
    return cell.request(method.upper(), filled, BODIES.get(operation), organisation=home.organisation)


def tell(reply: HttpReply) -> tuple[int, dict[str, Any]]:
    """Return what an answer says, without what names the request."""
    content = reply.content if isinstance(reply.content, dict) else {}
    return reply.status, {key: text for key, text in content.items() if key not in ("instance", "reference")}


@pytest.mark.req("A-PROJ-06", "A-PROJ-08", "A-PROJ-09", "R-42")
def test_on_every_route_who_has_left_gets_what_an_unknown_id_gets_and_who_returns_the_thing_itself(
    cell: Cell, directory: DirectoryServer, home: Home, worker: App
) -> None:
    cell.drain(worker)
    operations = list_operations()
    assert len(operations) >= 10

    join(cell, directory, home.organisation)
    listed = cell.request("GET", "/conversations", organisation=home.organisation).content["conversations"]
    assert listed == []
    for operation in operations:
        nobody = {"conversation": str(uuid4()), "run": str(uuid4())}
        left, unknown = call(cell, home, operation), call(cell, home, operation, **nobody)
        assert tell(left) == tell(unknown), operation
        assert left.status == 404, (operation, left)

    join(cell, directory, home.organisation, "gaia", "apollo")
    listed = cell.request("GET", "/conversations", organisation=home.organisation).content["conversations"]
    assert [found["conversationId"] for found in listed] == [home.conversation_id]
    for operation in operations:
        # There is no artifact, and a stretch of events is no JSON.
        if not operation[1].endswith(("{artifactId}", "/events")):
            assert call(cell, home, operation).status < 400, operation


@pytest.mark.req("A-PROJ-07", "R-42")
@pytest.mark.parametrize("trouble", [401, 500, 503])
def test_without_the_directory_nothing_is_read_and_the_answer_says_when_to_come_back(
    cell: Cell, directory: DirectoryServer, home: Home, trouble: int
) -> None:
    directory.trouble = trouble
    cell.restart_http()
    try:
        for operation in list_operations():
            reply = call(cell, home, operation)
            assert (reply.status, reply.content["code"]) == (503, "service_unavailable"), operation
    finally:
        directory.trouble = None
        cell.restart_http()


@pytest.mark.req("A-PROJ-08", "F-TENV-05", "R-42")
def test_a_run_whose_person_left_ends_and_no_socket_of_theirs_hears_of_it(
    cell: Cell, directory: DirectoryServer, home: Home
) -> None:
    frames = cell.listen(home.conversation_id, organisation=home.organisation)
    join(cell, directory, home.organisation)
    deaf = cell.listen(home.conversation_id, home.run_id, organisation=home.organisation)

    cell.drain(cell.build_worker())

    (status,) = cell.select("SELECT status FROM assistant_runs WHERE run_id = %s", home.run_id)
    assert status == ("ended",)
    assert not [frame for frame in deaf if json.loads(frame)["type"] in ("token", "message", "done")]
    assert not [frame for frame in frames if json.loads(frame)["type"] in ("token", "message")]
    join(cell, directory, home.organisation, "apollo")
    shown = cell.request("GET", f"/runs/{home.run_id}", organisation=home.organisation)
    assert (shown.status, shown.content["status"]) == (200, "ended")

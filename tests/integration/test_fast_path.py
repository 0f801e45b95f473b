"""Pages and help sections, answered by the deployed function that accepts turns."""

from pathlib import Path

import pytest

from local.cli.api import Api
from tests.deployed import Deployed, in_order, read_until, subscribe

pytestmark = pytest.mark.stack

ARTICLE = """# The night warden's desk

## Book the dome

Write the date, the number of visitors and a telephone number into the warden's book. Groups of more than
twelve book two weeks ahead.

## Borrow a lamp

Sign the lamp list at the desk and bring the lamp back before eleven.
"""


def ask(api: Api, question: str) -> tuple[str, str, str]:
    conversation = api.post("/conversations", {"title": "test"})["conversationId"]
    accepted = api.post(f"/conversations/{conversation}/messages", {"text": question})
    return conversation, accepted["runId"], accepted["mode"]


@pytest.mark.req("A-TURN-02", "F-ORCH-05")
def test_a_page_is_opened_by_the_function_that_was_asked(indexed: Deployed, ada: Api) -> None:
    conversation, run_id, mode = ask(ada, "Take me to the API description")
    with indexed.socket(ada) as socket:
        subscribe(socket, conversation, run_id)
        frames = in_order(read_until(socket, "done"))

    assert mode == "inline"
    kinds = ["accepted", "step", "token", "ui_action", "message", "done"]
    assert [frame["type"] for frame in frames] == kinds
    assert frames[3]["payload"]["path"] == "/api/assistant/openapi.json"
    run = ada.get(f"/runs/{run_id}")
    assert (run["mode"], run["modeReason"], run["status"]) == ("inline", "fast_path_navigate", "ended")
    assert (run["model"], run["usage"]["outputTokens"]) == (None, 0)
    assert ada.get(f"/conversations/{conversation}")["activeRunId"] is None


@pytest.mark.req("A-TURN-02", "A-TURN-05", "A-HOWTO-06")
def test_a_how_to_question_is_answered_from_the_help_and_both_ways_are_audited(
    indexed: Deployed, ada: Api, tmp_path: Path
) -> None:
    (tmp_path / "desk.md").write_text(ARTICLE, encoding="utf-8")
    assert indexed.index(tmp_path, corpus="help").failed == {}

    _, hit, mode = ask(ada, "How do I book the dome?")
    _, miss, other = ask(ada, "How do I polish the mirror of the telescope?")

    assert (mode, other) == ("inline", "queued")
    message = ada.get(f"/runs/{hit}")["message"]
    assert "See **The night warden's desk › Book the dome**" in message["text"]
    (ref,) = message["citations"]
    passage = ada.get(f"/passages/{ref['passageId']}")
    assert (passage["corpusId"], passage["headingPath"]) == ("help", ["Book the dome"])
    assert ada.get(f"/runs/{miss}", wait=25)["modeReason"] == "fast_path_no_match"
    rows = {row["runId"]: row for row in ada.get("/activity", tool="fast_path", limit=50)["rows"]}
    assert {hit, miss} <= set(rows)

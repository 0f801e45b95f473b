"""A question about real documents, asked of the deployed stack."""

import pytest

from local.cli.api import Api
from tests.deployed import Deployed, in_order, read_until, start, subscribe, wait_for_end

pytestmark = pytest.mark.stack

QUESTION = "How long does the mirror of the Aldous telescope have to cool?"


def test_a_question_is_answered_with_a_citation_that_opens_its_passage(indexed: Deployed, ada: Api) -> None:
    conversation, run_id = start(ada, QUESTION)
    with indexed.socket(ada) as socket:
        subscribe(socket, conversation, run_id)
        frames = in_order(read_until(socket, "done"))

    kinds = [frame["type"] for frame in frames]
    assert [frame["seq"] for frame in frames] == list(range(1, len(frames) + 1))
    assert kinds[0] == "accepted"
    assert kinds.count("done") == 1
    assert {"step", "tool_start", "tool_end", "token", "citations", "message"} <= set(kinds)
    assert all(frame["v"] == 1 and frame["runId"] == run_id and frame["at"] for frame in frames)

    run = ada.get(f"/runs/{run_id}", wait=25)
    assert run["stopReason"] == "end_turn"
    assert "forty minutes" in run["message"]["text"]
    assert "⟦1⟧" in run["message"]["text"]
    ref = run["message"]["citations"][0]
    passage = ada.get(f"/passages/{ref['passageId']}")
    assert " ".join(ref["quote"].split()) in " ".join(passage["text"].split())
    assert passage["sourcePath"] == "telescope.html"


def test_the_conversation_keeps_the_question_and_the_answer(ada: Api) -> None:
    conversation, run_id = start(ada, "When is the dome open to visitors?")
    wait_for_end(ada, run_id)

    kept = ada.get(f"/conversations/{conversation}")

    assert [message["role"] for message in kept["messages"]] == ["user", "assistant"]
    assert "Thursday" in kept["messages"][1]["text"]
    assert kept["messages"][1]["citations"]
    assert kept["activeRunId"] is None


def test_a_second_question_in_the_same_conversation_is_answered(ada: Api) -> None:
    conversation, first = start(ada, QUESTION)
    wait_for_end(ada, first)

    _, second = start(ada, "What is forbidden inside the dome?", conversation)

    assert "Laser pointers" in wait_for_end(ada, second)["message"]["text"]


def test_what_no_document_covers_is_not_answered(ada: Api) -> None:
    _, run_id = start(ada, "Which pension scheme applies to bakers in Portugal?")

    run = wait_for_end(ada, run_id)

    assert "found nothing" in run["message"]["text"]
    assert run["message"]["citations"] == []


def test_a_late_reader_gets_everything_in_order(indexed: Deployed, ada: Api) -> None:
    conversation, run_id = start(ada, QUESTION)
    run = wait_for_end(ada, run_id)

    with indexed.socket(ada) as socket:
        subscribe(socket, conversation, run_id)
        frames = read_until(socket, "done")

    assert [frame["seq"] for frame in frames] == list(range(1, run["lastSeq"] + 1))


def test_a_reader_that_comes_again_gets_only_what_it_missed(indexed: Deployed, ada: Api) -> None:
    conversation, run_id = start(ada, QUESTION)
    with indexed.socket(ada) as socket:
        subscribe(socket, conversation, run_id)
        seen = in_order(read_until(socket, "step"))

    last = seen[-1]["seq"]
    with indexed.socket(ada) as socket:
        subscribe(socket, conversation, run_id, after=last)
        rest = in_order(read_until(socket, "done"))

    assert [frame["seq"] for frame in rest] == list(range(last + 1, rest[-1]["seq"] + 1))


def test_a_second_tab_sees_the_same_answer(indexed: Deployed, ada: Api) -> None:
    conversation, run_id = start(ada, QUESTION)
    with indexed.socket(ada) as one, indexed.socket(ada) as other:
        subscribe(one, conversation, run_id)
        subscribe(other, conversation, run_id)
        first, second = in_order(read_until(one, "done")), in_order(read_until(other, "done"))

    assert first == second


def test_a_caller_without_a_socket_waits_for_the_run(ada: Api) -> None:
    _, run_id = start(ada, QUESTION)

    run = ada.get(f"/runs/{run_id}", wait=25)

    assert run["status"] == "ended"
    assert run["message"]["citations"]
    assert run["model"]["provider"] == "embedded"
    log = ada.get(f"/runs/{run_id}/envelopes", after=0)
    assert [envelope["seq"] for envelope in log["envelopes"]] == list(range(1, run["lastSeq"] + 1))


def test_a_ticket_opens_one_socket_only(indexed: Deployed, ada: Api) -> None:
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    ticket = ada.post("/tickets")
    address = f"{ticket['webSocketUrl']}?ticket={ticket['ticket']}"
    secure = indexed.trust if address.startswith("wss:") else None
    with connect(address, proxy=None, ssl=secure, open_timeout=60):
        pass

    with pytest.raises(InvalidStatus), connect(address, proxy=None, ssl=secure, open_timeout=60):
        pass

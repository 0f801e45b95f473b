"""Whatever dies, stops or comes in between, an accepted turn ends once, and visibly."""

import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from local.cli.api import Api, ApiRefused
from tests.deployed import Deployed, in_order, read_until, start, subscribe, wait_for_end
from tests.integration.test_command_line import EQUERRY, environment
from tests.observatory import LONG_QUESTION

pytestmark = pytest.mark.stack

REAPED_WITHIN_S = 240.0
WORD_DELAY_MS = 500
"""So slowly that a long answer is not over before a busy machine has come to interrupt it."""
SHORT_QUESTION = "What is forbidden inside the dome?"


@pytest.fixture(autouse=True, scope="module")
def _slow(indexed: Deployed) -> Iterator[None]:
    with indexed.slow_answers(WORD_DELAY_MS):
        yield


def test_a_worker_killed_in_mid_answer_still_ends_the_turn_once(indexed: Deployed, ada: Api) -> None:
    with indexed.socket(ada) as socket:
        conversation, run_id = start(ada, LONG_QUESTION)
        subscribe(socket, conversation, run_id)
        before = read_until(socket, "token")
        assert indexed.kill_worker() > 0
        after = read_until(socket, "done", timeout=REAPED_WITHIN_S)

    frames = in_order([*before, *after])
    assert [frame["seq"] for frame in frames] == list(range(1, len(frames) + 1))
    assert [frame["type"] for frame in frames].count("done") == 1
    assert frames[-1]["payload"]["stopReason"] == "interrupted"
    assert wait_for_end(ada, run_id)["stopReason"] == "interrupted"
    log = ada.get(f"/runs/{run_id}/envelopes", after=0)["envelopes"]
    assert [envelope["type"] for envelope in log].count("done") == 1

    _, following = start(ada, SHORT_QUESTION, conversation)
    assert "Laser pointers" in wait_for_end(ada, following)["message"]["text"]


def test_a_cancelled_run_ends_as_cancelled(indexed: Deployed, ada: Api) -> None:
    with indexed.socket(ada) as socket:
        conversation, run_id = start(ada, LONG_QUESTION)
        subscribe(socket, conversation, run_id)
        before = read_until(socket, "token")
        ada.post(f"/runs/{run_id}/cancel")
        frames = in_order([*before, *read_until(socket, "done")])

    assert frames[-1]["payload"]["stopReason"] == "cancelled"
    assert ada.get(f"/runs/{run_id}", wait=5)["stopReason"] == "cancelled"
    assert ada.get(f"/conversations/{conversation}")["activeRunId"] is None


def test_stop_in_one_tab_and_send_in_another_works_at_once(indexed: Deployed, ada: Api) -> None:
    with indexed.socket(ada) as socket, indexed.api("ada") as other_tab:
        conversation, run_id = start(ada, LONG_QUESTION)
        subscribe(socket, conversation, run_id)
        read_until(socket, "token")
        other_tab.post(f"/runs/{run_id}/cancel")
        _, following = start(ada, SHORT_QUESTION, conversation)

    assert wait_for_end(ada, run_id)["stopReason"] == "cancelled"
    assert wait_for_end(ada, following)["stopReason"] == "end_turn"


def test_a_second_message_during_a_turn_is_refused(ada: Api) -> None:
    conversation, run_id = start(ada, LONG_QUESTION)
    with pytest.raises(ApiRefused) as caught:
        start(ada, "And then?", conversation)

    assert (caught.value.status, caught.value.code) == (409, "turn_in_progress")
    stop(ada, run_id)


@pytest.mark.req("A-LEASE-01")
def test_of_questions_from_several_tabs_at_once_one_is_accepted(indexed: Deployed, ada: Api) -> None:
    conversation = ada.post("/conversations", {})["conversationId"]

    def send(_number: int) -> str:
        with indexed.api("ada") as tab:
            try:
                return str(start(tab, LONG_QUESTION, conversation)[1])
            except ApiRefused as refused:
                return refused.code

    with ThreadPoolExecutor(3) as tabs:
        told = list(tabs.map(send, range(3)))

    assert told.count("turn_in_progress") == 2
    (run_id,) = [each for each in told if each != "turn_in_progress"]
    stop(ada, run_id)


def test_a_reader_that_leaves_does_not_stop_the_run(indexed: Deployed, ada: Api) -> None:
    with indexed.socket(ada) as socket:
        conversation, run_id = start(ada, SHORT_QUESTION)
        subscribe(socket, conversation, run_id)
        read_until(socket, "step")

    assert wait_for_end(ada, run_id)["stopReason"] == "end_turn"


def test_an_interrupt_from_the_keyboard_cancels_the_run(indexed: Deployed, ada: Api) -> None:
    process = subprocess.Popen(
        [EQUERRY, "ask", LONG_QUESTION],
        env=environment(indexed),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever started the tests in the background may have let them ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "cancelled" in said
    newest = ada.get("/conversations")["conversations"][0]
    assert newest["title"] == LONG_QUESTION
    (question, *_) = ada.get(f"/conversations/{newest['conversationId']}")["messages"]
    assert wait_for_end(ada, question["runId"])["stopReason"] == "cancelled"


def stop(api: Api, run_id: str) -> None:
    """End what a test needs no longer."""
    api.post(f"/runs/{run_id}/cancel")
    assert wait_for_end(api, run_id)["stopReason"] == "cancelled"

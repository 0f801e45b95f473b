"""Whatever dies or is stopped, an accepted turn ends once, and visibly."""

import time
from collections.abc import Iterator

import pytest

from local.cli.api import Api
from tests.deployed import Deployed, in_order, read_until, start, subscribe, wait_for_end
from tests.observatory import LONG_QUESTION

pytestmark = pytest.mark.stack

REAPED_WITHIN_S = 240.0


@pytest.fixture(autouse=True, scope="module")
def _slow(indexed: Deployed) -> Iterator[None]:
    with indexed.slow_answers():
        yield


@pytest.mark.timeout(400)
def test_a_worker_killed_in_mid_answer_still_ends_the_turn_once(indexed: Deployed, ada: Api) -> None:
    conversation, run_id = start(ada, LONG_QUESTION)
    with indexed.socket(ada) as socket:
        subscribe(socket, conversation, run_id)
        before = read_until(socket, "token")
        assert indexed.kill_worker() > 0
        after = read_until(socket, "done", timeout=REAPED_WITHIN_S)

    frames = in_order([*before, *after])
    assert [frame["seq"] for frame in frames] == list(range(1, len(frames) + 1))
    assert [frame["type"] for frame in frames].count("done") == 1
    assert frames[-1]["payload"]["stopReason"] == "interrupted"
    assert wait_for_end(ada, run_id)["stopReason"] == "interrupted"
    time.sleep(2)
    log = ada.get(f"/runs/{run_id}/envelopes", after=0)["envelopes"]
    assert [envelope["type"] for envelope in log].count("done") == 1

    _, following = start(ada, "What is forbidden inside the dome?", conversation)
    assert "Laser pointers" in wait_for_end(ada, following)["message"]["text"]


def test_a_cancelled_run_ends_as_cancelled(indexed: Deployed, ada: Api) -> None:
    conversation, run_id = start(ada, LONG_QUESTION)
    with indexed.socket(ada) as socket:
        subscribe(socket, conversation, run_id)
        before = read_until(socket, "token")
        ada.post(f"/runs/{run_id}/cancel")
        frames = in_order([*before, *read_until(socket, "done")])

    assert frames[-1]["payload"]["stopReason"] == "cancelled"
    assert ada.get(f"/runs/{run_id}", wait=5)["stopReason"] == "cancelled"
    assert ada.get(f"/conversations/{conversation}")["activeRunId"] is None


def test_a_second_message_during_a_turn_is_refused(ada: Api) -> None:
    from local.cli.api import ApiRefused

    conversation, run_id = start(ada, LONG_QUESTION)
    with pytest.raises(ApiRefused) as caught:
        start(ada, "And then?", conversation)

    assert (caught.value.status, caught.value.code) == (409, "turn_in_progress")
    wait_for_end(ada, run_id)


def test_a_reader_that_leaves_does_not_stop_the_run(indexed: Deployed, ada: Api) -> None:
    conversation, run_id = start(ada, LONG_QUESTION)
    with indexed.socket(ada) as socket:
        subscribe(socket, conversation, run_id)
        read_until(socket, "step")

    assert wait_for_end(ada, run_id)["stopReason"] == "end_turn"

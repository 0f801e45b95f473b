from itertools import permutations
from typing import Any

import pytest

from local.cli.following import Reader


def frame(seq: int, run: str = "r", kind: str = "token", **payload: Any) -> dict[str, Any]:
    return {
        "v": 1,
        "type": kind,
        "runId": run,
        "conversationId": "c",
        "seq": seq,
        "at": "",
        "payload": payload,
    }


@pytest.mark.parametrize("order", list(permutations([1, 2, 3])))
def test_envelopes_are_read_in_order_whatever_order_they_come_in(order: tuple[int, ...]) -> None:
    reader = Reader("r")

    read = [envelope["seq"] for seq in order for envelope in reader.take(frame(seq))]

    assert read == [1, 2, 3]


def test_an_envelope_that_comes_twice_is_read_once() -> None:
    reader = Reader("r")

    read = [envelope["seq"] for seq in (1, 1, 2, 1, 2) for envelope in reader.take(frame(seq))]

    assert read == [1, 2]


def test_another_runs_envelopes_are_not_ours() -> None:
    assert list(Reader("r").take(frame(1, run="other"))) == []


def test_a_gap_moves_on_to_what_the_log_still_has() -> None:
    reader = Reader("r")
    list(reader.take(frame(0, kind="gap", after=0, next=5)))

    assert [envelope["seq"] for envelope in reader.take(frame(5))] == [5]


def test_a_hole_is_noticed_until_it_is_filled() -> None:
    reader = Reader("r")

    list(reader.take(frame(2)))
    assert reader.has_hole
    list(reader.take(frame(1)))
    assert not reader.has_hole

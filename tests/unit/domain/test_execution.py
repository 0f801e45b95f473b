"""Within which bounds a run is executed, and how much of the transcript it sees."""

import pytest
from equerry.domain.budget import Reservation
from equerry.domain.composition import fit_history
from equerry.domain.conversations import TranscriptMessage
from equerry.domain.execution import bound_limits, choose_history, fit_worker
from equerry.domain.limits import TurnLimits
from equerry.engine.loop_limits import LoopLimits
from equerry.kernel.identifiers import MessageId, RunId

from tests.fakes.clock import NOON

WHOLE = Reservation(hour=1, input_tokens=150_000, output_tokens=8_000)
SHORT = Reservation(hour=1, input_tokens=7_000, output_tokens=1_024, full=False)


def messages(*texts: str) -> tuple[TranscriptMessage, ...]:
    return tuple(
        TranscriptMessage(
            message_id=MessageId(str(number)),
            role="assistant" if number % 2 else "user",
            text=text,
            run_id=RunId("r"),
            created_at=NOON,
        )
        for number, text in enumerate(texts)
    )


def test_a_run_may_use_what_was_reserved_for_it_and_no_more() -> None:
    limits = bound_limits(LoopLimits(), SHORT, TurnLimits())

    assert (limits.input_tokens, limits.output_tokens) == (7_000, 1_024)
    assert bound_limits(LoopLimits(), WHOLE, TurnLimits()) == LoopLimits()


def test_a_platform_s_cap_holds_for_every_profile_and_a_profile_s_own_below_it() -> None:
    profile = LoopLimits(rounds=3, tool_calls=20, round_output_tokens=2_048)

    limits = bound_limits(profile, WHOLE, TurnLimits(tool_rounds=5, tool_calls=4, round_tokens=100))

    assert (limits.rounds, limits.tool_calls, limits.round_output_tokens) == (3, 4, 100)


def test_time_is_bound_by_the_platform_and_by_the_profile() -> None:
    profile = LoopLimits(wall_s=100, first_chunk_s=20)

    limits = bound_limits(profile, WHOLE, TurnLimits(wall_s=90, first_chunk_s=30, inter_chunk_s=10))

    assert (limits.wall_s, limits.first_chunk_s, limits.inter_chunk_s) == (90, 20, 10)


@pytest.mark.parametrize(("timeout_s", "wall_s"), [(300, 240), (285, 240), (284, 239), (60, 15), (30, 1)])
def test_no_turn_is_given_more_time_than_its_worker_has(timeout_s: int, wall_s: int) -> None:
    assert fit_worker(TurnLimits(), timeout_s).wall_s == wall_s


@pytest.mark.req("A-BUDG-05")
def test_a_short_budget_drops_all_but_the_last_exchange() -> None:
    assert choose_history(WHOLE, TurnLimits()) == 40
    assert choose_history(SHORT, TurnLimits()) == 3
    assert choose_history(None, TurnLimits(history_messages=2)) == 2


def test_the_newest_messages_that_fit_are_kept_in_order() -> None:
    history = messages("old " * 300, "b" * 30, "c" * 30)

    assert fit_history(history, tokens=20) == history[1:]
    assert fit_history(history, tokens=10_000) == history


def test_the_question_is_kept_whatever_its_length() -> None:
    history = messages("a", "b", "c" * 9_000)

    assert fit_history(history, tokens=10) == history[2:]

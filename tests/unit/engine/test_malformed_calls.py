"""Calls that a model or its provider mangled: each answered, none crashes, the thread stays legal."""

import re
from collections.abc import Mapping
from typing import Any, cast

import pytest
from equerry.adapters.fixture.script import ScriptedRound, say
from equerry.engine.loop_events import ToolFinished
from equerry.engine.messages import ToolCallBlock
from equerry.engine.played_round import MOST_ARGUMENT_BYTES
from equerry.engine.run_loop import RunOutcome
from equerry.kernel.identifiers import ToolCallId
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.engine.playing import ProbeTool, ask, contents, run, wish
from tests.unit.engine.test_run_loop import Model

SENDABLE = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def play(*rounds: ScriptedRound, tool: ProbeTool | None = None) -> tuple[RunOutcome, list[str | None]]:
    outcome, events = run(Model(*rounds, say("Done.")).stream, tool or ProbeTool())
    return outcome, [event.failure for event in events if isinstance(event, ToolFinished)]


def calls_of(outcome: RunOutcome) -> list[ToolCallBlock]:
    return [call for message in outcome.thread.messages for call in message.tool_calls]


@pytest.mark.parametrize(
    "name", ["functions.probe", "probe<|channel|>json", "Probe", "prob e", "", "x" * 300, "пробе", "probe\n"]
)
def test_a_mangled_name_is_answered_and_can_be_sent_back(name: str) -> None:
    tool = ProbeTool()

    outcome, failures = play(ask(wish(name, "c")), tool=tool)

    assert outcome.stop == "end_turn"
    assert tool.heard == []
    assert failures == ["unknown_tool"]
    assert SENDABLE.fullmatch(calls_of(outcome)[0].tool)
    assert "The tools are: probe." in next(iter(contents(outcome)))


def test_a_mangled_name_that_looks_like_a_tool_is_not_guessed() -> None:
    tool = ProbeTool("two_words")

    outcome, _ = play(ask(wish("two words", "c")), tool=tool)

    assert tool.heard == []
    assert list(contents(outcome)) == ["'two words' is no tool's name."]


@pytest.mark.parametrize("arguments", [None, "text", 7, ["a"], True])
def test_arguments_that_are_no_object_are_answered(arguments: object) -> None:
    tool = ProbeTool()
    call = ToolCallBlock(
        call_id=ToolCallId("c"), tool="probe", arguments=cast("Mapping[str, object]", arguments)
    )

    outcome, failures = play(ask(call), tool=tool)

    assert (tool.heard, failures) == ([], ["invalid_arguments"])
    assert "must be a JSON object" in next(iter(contents(outcome)))
    assert calls_of(outcome)[0].arguments == {}


def test_arguments_an_adapter_could_not_read_are_answered_with_its_reason() -> None:
    call = ToolCallBlock(call_id=ToolCallId("c"), tool="probe", arguments={}, problem="Not JSON: {oops")

    outcome, failures = play(ask(call))

    assert list(contents(outcome)) == ["Not JSON: {oops"]
    assert failures == ["invalid_arguments"]


@pytest.mark.parametrize(
    "value", ["x" * (MOST_ARGUMENT_BYTES + 1), "é" * (MOST_ARGUMENT_BYTES // 2 + 1), "\ud800", {1, 2}, b"x"]
)
def test_arguments_too_large_or_not_sendable_are_answered_and_not_kept(value: Any) -> None:
    tool = ProbeTool()

    outcome, failures = play(ask(wish("probe", "c", value=value)), tool=tool)

    assert (tool.heard, failures) == ([], ["invalid_arguments"])
    assert calls_of(outcome)[0].arguments == {}


def test_two_calls_under_one_id_are_both_run_under_ids_of_their_own() -> None:
    tool = ProbeTool()

    outcome, _ = play(ask(wish("probe", "c", n=1), wish("probe", "c", n=2)), tool=tool)

    assert sorted(str(heard) for heard in tool.heard) == ["{'n': 1}", "{'n': 2}"]
    assert len({call.call_id for call in calls_of(outcome)}) == 2


def test_one_call_sent_twice_under_one_id_is_run_once() -> None:
    tool = ProbeTool(effect="write")

    outcome, failures = play(ask(wish("probe", "c", n=1), wish("probe", "c", n=1)), tool=tool)

    assert len(tool.heard) == 1
    assert failures == [None, "invalid_arguments"]
    assert len(list(contents(outcome))) == 2


def test_an_id_used_again_in_a_later_round_is_told_apart() -> None:
    outcome, _ = play(ask(wish("probe", "c")), ask(wish("probe", "c")), ask(wish("probe", "")))

    assert [call.call_id for call in calls_of(outcome)] == ["c", "c-2", "call"]


ROUNDS = st.lists(
    st.lists(
        st.builds(
            wish,
            st.sampled_from(["probe", "probe.", "other", ""]) | st.text(max_size=70),
            st.sampled_from(["a", "b", ""]) | st.text(max_size=70),
        ),
        min_size=1,
        max_size=4,
    ),
    max_size=4,
)


@settings(deadline=None)
@given(ROUNDS)
def test_every_call_is_answered_once_under_an_id_and_a_name_that_can_be_sent_back(
    rounds: list[list[ToolCallBlock]],
) -> None:
    outcome, _ = play(*(ask(*calls) for calls in rounds))

    calls = calls_of(outcome)
    assert outcome.stop == "end_turn"
    assert len(calls) == sum(map(len, rounds)) == len(list(contents(outcome)))
    assert len({call.call_id for call in calls}) == len(calls)
    assert all(SENDABLE.fullmatch(call.call_id) and SENDABLE.fullmatch(call.tool) for call in calls)

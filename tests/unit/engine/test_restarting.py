"""A round that begins anew after some of it has come."""

import pytest
from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import ScriptedRound, call, fail, replay, say
from equerry.engine.loop_events import LoopEvent, RoundFinished, RoundRestarted, TextProduced
from equerry.engine.model import ModelChoice, Restarted, RoundEnd, TextDelta, ToolCallReady
from equerry.engine.run_loop import RunOutcome
from equerry.kernel.errors import Unavailable
from equerry.kernel.usage import Usage

from tests.fakes.clock import FixedClock
from tests.unit.engine import playing
from tests.unit.engine.playing import ProbeTool, wish

OTHER = ModelChoice(provider="other", model="m-2")
ANEW = Restarted(model=OTHER, reason="model_unavailable")
END = RoundEnd(stop="end_turn", usage=Usage(input_tokens=9, output_tokens=4), model=OTHER)


def run(*rounds: ScriptedRound, tool: ProbeTool | None = None) -> tuple[RunOutcome, list[LoopEvent]]:
    model = FixtureModelAdapter(FixedClock(), script=replay(rounds))
    return playing.run(model.stream, tool or ProbeTool())


@pytest.mark.req("F-GATE-05")
def test_what_a_round_had_said_is_gone_and_earlier_rounds_stay() -> None:
    looking = ScriptedRound((TextDelta("Let me look."), *call("probe").steps))
    anew = ScriptedRound((TextDelta("It is fo"), ANEW, TextDelta("Five."), END))

    outcome, events = run(looking, anew)

    assert outcome.text == "Let me look.\n\nFive."
    assert RoundRestarted(number=2, model=OTHER, reason="model_unavailable") in events
    assert [e.text for e in events if isinstance(e, TextProduced)][-1] == "\n\nFive."


def test_what_was_thrown_away_is_in_no_later_request_and_counts_as_unmetered() -> None:
    asks = (TextDelta("y" * 300), ANEW, *call("probe", usage=Usage(input_tokens=5)).steps)
    outcome, _ = run(ScriptedRound(asks), say("Done.", usage=Usage(input_tokens=6)))

    assert outcome.usage.input_tokens == 11
    assert outcome.unmetered.output_tokens == 100
    assert outcome.unmetered.input_tokens > 0
    assert "yyy" not in str(outcome.thread)


@pytest.mark.req("F-GATE-03")
def test_a_call_that_was_thrown_away_is_never_executed() -> None:
    tool = ProbeTool()
    asked = ToolCallReady(wish("probe", "c-1", which="thrown away"))
    again = ToolCallReady(wish("probe", "c-1", which="kept"))
    calls = RoundEnd(stop="tool_use", usage=Usage())

    outcome, _ = run(ScriptedRound((asked, ANEW, again, calls)), say("Done."), tool=tool)

    assert tool.heard == [{"which": "kept"}]
    assert (outcome.stop, outcome.tool_calls) == ("end_turn", 1)


def test_no_tool_runs_before_its_round_has_ended_so_that_any_round_may_begin_anew() -> None:
    tool = ProbeTool()
    asked = ToolCallReady(wish("probe", "c-1"))

    outcome, _ = run(ScriptedRound((asked, ANEW, TextDelta("No need."), END)), tool=tool)

    assert (outcome.text, tool.heard) == ("No need.", [])


def test_a_round_that_begins_anew_and_breaks_again_leaves_only_what_was_said_since() -> None:
    outcome, events = run(fail(Unavailable("gone"), TextDelta("One"), ANEW, TextDelta("Two")))

    assert (outcome.stop, outcome.text) == ("error", "Two")
    assert events[-1] == TextProduced("Two")


def test_a_round_that_is_stopped_after_it_began_anew_names_who_played_it() -> None:
    stops = iter([False, False, False])
    model = FixtureModelAdapter(FixedClock(), script=replay([ScriptedRound((TextDelta("One"), ANEW, END))]))

    outcome, events = playing.run(model.stream, should_stop=lambda: next(stops, True))

    assert outcome.stop == "cancelled"
    assert events[-1] == RoundFinished(number=1, stop=None, usage=None, model=OTHER)


def test_a_round_may_begin_anew_twice() -> None:
    outcome, _ = run(ScriptedRound((TextDelta("One"), ANEW, TextDelta("Two"), ANEW, TextDelta("Three"), END)))

    assert outcome.text == "Three"

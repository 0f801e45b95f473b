"""The loop between model and tools."""

from collections.abc import Generator, Mapping

import pytest
from equerry.adapters.fixture.script import ScriptedRound, call, fail, replay, say
from equerry.engine.assistant import Assistant
from equerry.engine.loop_events import LoopEvent, TextProduced, ToolFinished, ToolSkipped
from equerry.engine.loop_limits import LoopLimits
from equerry.engine.messages import ToolCallBlock, ToolResultBlock
from equerry.engine.model import (
    ModelEvent,
    ModelRequest,
    Prompt,
    RoundEnd,
    TextDelta,
    ToolCallReady,
    ToolSpec,
)
from equerry.engine.run_loop import RunLoop, RunOutcome
from equerry.engine.thread import Thread
from equerry.engine.tool import ToolEffect, ToolOutcome
from equerry.kernel.errors import EquerryError, Unavailable
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.usage import Usage

from tests.fakes.clock import FixedClock


class EchoTool:
    """Answers with its argument; breaks when told to."""

    label = "Echoing"
    effect: ToolEffect = "read"
    spec = ToolSpec(name="echo", description="Say it back", input_schema={"type": "object"})

    def __init__(self, clock: FixedClock | None = None) -> None:
        self.heard: list[Mapping[str, object]] = []
        self._clock = clock

    def run(self, arguments: Mapping[str, object]) -> ToolOutcome:
        self.heard.append(arguments)
        if self._clock is not None:
            self._clock.advance(0.25)
        if arguments.get("fail"):
            raise Unavailable("the echo is out of order")
        return ToolOutcome(content=f"echo: {arguments.get('word')}", summary="1 echo")


class Model:
    """Plays rounds and keeps what it was asked."""

    def __init__(self, *rounds: ScriptedRound) -> None:
        self._script = replay(rounds)
        self.requests: list[ModelRequest] = []
        self.closed = 0

    def stream(self, request: ModelRequest) -> Generator[ModelEvent, None, None]:
        self.requests.append(request)
        try:
            for step in self._script(request).steps:
                if isinstance(step, EquerryError):
                    raise step
                assert isinstance(step, TextDelta | ToolCallReady | RoundEnd)
                yield step
        finally:
            self.closed += 1


def play(
    model: Model,
    tool: EchoTool | None = None,
    *,
    limits: LoopLimits | None = None,
    clock: FixedClock | None = None,
    stop_when: list[bool] | None = None,
) -> tuple[RunOutcome, list[LoopEvent]]:
    events: list[LoopEvent] = []
    answers = iter(stop_when or [])
    loop = RunLoop(
        stream_round=model.stream,
        clock=clock or FixedClock(),
        should_stop=lambda: next(answers, bool(stop_when)),
    )
    assistant = Assistant(
        prompt=Prompt(stable="Be brief."), tools=(tool or EchoTool(),), limits=limits or LoopLimits()
    )
    return loop.run(assistant, Thread().say("Well?"), events.append), events


@pytest.mark.req("F-RUN-01", "A-TURN-03")
def test_tool_results_go_back_to_the_model_until_it_stops() -> None:
    model, tool = Model(call("echo", word="hello"), say("It said ", "hello.")), EchoTool()

    outcome, _ = play(model, tool)

    assert (outcome.stop, outcome.text, outcome.rounds) == ("end_turn", "It said hello.", 2)
    assert tool.heard == [{"word": "hello"}]
    last = model.requests[1].thread.messages[-1]
    assert last.blocks == (ToolResultBlock(call_id=ToolCallId("call-1"), content="echo: hello"),)


@pytest.mark.req("F-RUN-04")
def test_the_outcome_is_the_same_with_and_without_a_consumer() -> None:
    rounds = (call("echo", word="a"), say("one ", "two"))
    watched, events = play(Model(*rounds))
    loop = RunLoop(stream_round=Model(*rounds).stream, clock=FixedClock())

    unwatched = loop.run(
        Assistant(prompt=Prompt(stable="Be brief."), tools=(EchoTool(),)), Thread().say("Well?")
    )

    assert unwatched == watched
    assert [event.text for event in events if isinstance(event, TextProduced)] == ["one ", "two"]


@pytest.mark.req("F-RUN-06")
def test_a_failing_tool_is_answered_to_the_model_and_does_not_end_the_run() -> None:
    model = Model(call("echo", fail=True), say("The echo is broken."))

    outcome, events = play(model)

    assert outcome.stop == "end_turn"
    result = model.requests[1].thread.messages[-1].blocks[0]
    assert isinstance(result, ToolResultBlock)
    assert not result.ok
    assert "out of order" in result.content
    assert [event.ok for event in events if isinstance(event, ToolFinished)] == [False]


def test_a_tool_the_model_made_up_is_answered_with_the_tools_there_are() -> None:
    model = Model(call("teleport"), say("I cannot."))

    outcome, events = play(model)

    result = model.requests[1].thread.messages[-1].blocks[0]
    assert isinstance(result, ToolResultBlock)
    assert "teleport" in result.content
    assert "echo" in result.content
    told = [event for event in events if isinstance(event, ToolFinished)]
    assert [(event.call.tool, event.ok, event.failure) for event in told] == [
        ("teleport", False, "unknown_tool")
    ]
    assert outcome.tool_calls == 1


@pytest.mark.req("F-RUN-02")
def test_the_last_round_may_not_call_tools_so_that_it_answers() -> None:
    model = Model(call("echo"), call("echo"), say("Enough."))

    outcome, _ = play(model, limits=LoopLimits(rounds=3))

    assert [request.tools_allowed for request in model.requests] == [True, True, False]
    assert all(request.tools for request in model.requests)
    assert outcome.stop == "end_turn"


@pytest.mark.req("F-RUN-02")
def test_a_model_that_will_not_stop_calling_is_stopped_by_the_round_limit() -> None:
    outcome, _ = play(Model(call("echo"), call("echo")), limits=LoopLimits(rounds=2))

    assert (outcome.stop, outcome.rounds) == ("max_rounds", 2)


def test_calls_beyond_the_limit_are_answered_as_not_run() -> None:
    tool, model = EchoTool(), Model(call("echo"), call("echo", call_id="call-2"), say("Fine."))

    outcome, events = play(model, tool, limits=LoopLimits(tool_calls=1))

    assert len(tool.heard) == 1
    skipped = [event.call.call_id for event in events if isinstance(event, ToolSkipped)]
    assert skipped == ["call-2"]
    result = model.requests[2].thread.messages[-1].blocks[0]
    assert isinstance(result, ToolResultBlock)
    assert not result.ok
    assert outcome.stop == "end_turn"


@pytest.mark.req("F-RUN-03")
def test_wall_time_ends_the_run_between_rounds() -> None:
    clock = FixedClock()

    outcome, _ = play(
        Model(call("echo"), say("late")), EchoTool(clock), limits=LoopLimits(wall_s=0.2), clock=clock
    )

    assert (outcome.stop, outcome.rounds) == ("deadline", 1)


def test_the_rounds_output_allowance_shrinks_to_what_the_run_has_left() -> None:
    spent = Usage(input_tokens=10, output_tokens=900)
    model = Model(call("echo", usage=spent), say("ok", usage=spent))

    outcome, _ = play(model, limits=LoopLimits(round_output_tokens=900, output_tokens=1000))

    assert [request.max_output_tokens for request in model.requests] == [900, 100]
    assert outcome.usage == Usage(input_tokens=20, output_tokens=1800)


def test_a_run_out_of_output_tokens_stops_before_it_asks_again() -> None:
    spent = Usage(output_tokens=990)

    outcome, _ = play(Model(call("echo", usage=spent)), limits=LoopLimits(output_tokens=1000))

    assert outcome.stop == "max_tokens"


def test_a_run_stops_before_a_round_whose_input_would_pass_what_is_left() -> None:
    spent = Usage(input_tokens=600)
    model = Model(
        ScriptedRound(
            (
                TextDelta("So far."),
                ToolCallReady(ToolCallBlock(call_id=ToolCallId("c"), tool="echo", arguments={})),
                RoundEnd(stop="tool_use", usage=spent),
            )
        )
    )

    outcome, _ = play(model, limits=LoopLimits(input_tokens=1_000))

    assert (outcome.stop, outcome.rounds, outcome.text) == ("max_tokens", 1, "So far.")
    assert outcome.usage.input_tokens <= 1_000


def test_a_question_that_does_not_fit_is_told_so_and_no_model_is_asked() -> None:
    model = Model()

    outcome, _ = play(model, limits=LoopLimits(input_tokens=1))

    assert (outcome.stop, outcome.rounds, model.requests) == ("error", 0, [])
    assert outcome.error is not None
    assert outcome.error.code == "too_large"


def test_a_round_that_breaks_off_is_estimated_and_one_that_ends_is_not() -> None:
    whole, _ = play(Model(say("Hello.", usage=Usage(input_tokens=7))))
    broken, _ = play(Model(fail(Unavailable("gone"), TextDelta("x" * 300))))

    assert whole.unmetered == Usage()
    assert broken.usage == Usage()
    assert broken.unmetered.output_tokens == 100
    assert broken.unmetered.input_tokens > 0


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "malformed"])
def test_calls_of_a_round_that_did_not_end_well_are_never_executed(stop: str) -> None:
    half = ToolCallBlock(call_id=ToolCallId("c"), tool="echo", arguments={})
    end = RoundEnd(stop=stop, usage=Usage())  # type: ignore[arg-type]  # the three are RoundStops
    tool = EchoTool()

    outcome, _ = play(Model(ScriptedRound((TextDelta("So"), ToolCallReady(half), end))), tool)

    assert tool.heard == []
    assert outcome.stop == {"malformed": "error"}.get(stop, stop)
    assert outcome.thread.messages[-1].tool_calls == ()


@pytest.mark.req("F-RUN-05")
def test_a_stop_inside_a_stream_closes_it_and_keeps_what_was_said() -> None:
    model = Model(say("one ", "two ", "three "))

    outcome, _ = play(model, stop_when=[False, False, False, True])

    assert (outcome.stop, outcome.text) == ("cancelled", "one two")
    assert model.closed == 1


@pytest.mark.req("F-RUN-05")
def test_a_stop_before_a_tool_means_the_tool_never_runs() -> None:
    tool = EchoTool()

    outcome, _ = play(Model(call("echo")), tool, stop_when=[False, False, False, True])

    assert outcome.stop == "cancelled"
    assert tool.heard == []
    assert isinstance(outcome.thread.messages[-1].blocks[0], ToolResultBlock)


def test_a_model_that_breaks_off_leaves_what_it_had_said_and_its_reason() -> None:
    broken = Unavailable("the provider went away")

    outcome, _ = play(Model(fail(broken, TextDelta("So far"))))

    assert (outcome.stop, outcome.text, outcome.error) == ("error", "So far", broken)


def test_text_of_a_later_round_begins_a_new_paragraph() -> None:
    looking = ScriptedRound((TextDelta("Let me look."), *call("echo").steps))

    outcome, _ = play(Model(looking, say("Found it.")))

    assert outcome.text == "Let me look.\n\nFound it."

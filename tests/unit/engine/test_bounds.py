"""No bound of a run is ever passed, whatever shape the model's answers have."""

from collections.abc import Generator
from dataclasses import dataclass, field

import pytest
from equerry.engine.estimates import estimate_instructions, estimate_thread
from equerry.engine.loop_events import ToolStarted
from equerry.engine.loop_limits import LoopLimits
from equerry.engine.messages import OpaqueBlock, ToolCallBlock, ToolResultBlock
from equerry.engine.model import (
    ModelEvent,
    ModelRequest,
    OpaqueState,
    RoundEnd,
    RoundStop,
    StillWorking,
    TextDelta,
    ThinkingDelta,
    ToolCallReady,
)
from equerry.engine.run_loop import LoopStop, RunOutcome
from equerry.engine.thread import Thread
from equerry.engine.tool import ToolOutcome
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.usage import Usage
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.clock import FixedClock
from tests.unit.engine.playing import ProbeTool, run

TRUNCATED: set[LoopStop] = {"max_rounds", "max_tokens", "deadline"}


@dataclass(frozen=True)
class Turn:
    """One round of a model's: what it says, what it wants, how long that takes and what it costs."""

    texts: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    extra: tuple[ModelEvent, ...] = ()
    stop: RoundStop = "end_turn"
    seconds: float = 0.0
    output: int = 0
    fails: bool = False


@dataclass
class ShapedModel:
    """Plays turns, the last one for ever; counts input as a provider would, and keeps to what it is allowed.

    `thrift` is how its count of input compares with our estimate.
    """

    turns: tuple[Turn, ...]
    clock: FixedClock
    thrift: float = 1.0
    requests: list[ModelRequest] = field(default_factory=list)

    def stream(self, request: ModelRequest) -> Generator[ModelEvent, None, None]:
        turn = self.turns[min(len(self.requests), len(self.turns) - 1)]
        self.requests.append(request)
        self.clock.advance(turn.seconds)
        yield from turn.extra
        yield from map(TextDelta, turn.texts)
        if turn.fails:
            raise Unavailable("gone")
        for number, tool in enumerate(turn.calls):
            call = ToolCallBlock(call_id=ToolCallId(f"c{number}"), tool=tool, arguments={})
            yield ToolCallReady(call)
        estimated = estimate_instructions(request.prompt, request.tools) + estimate_thread(request.thread)
        usage = Usage(
            input_tokens=int(estimated * self.thrift),
            output_tokens=min(turn.output, request.max_output_tokens),
        )
        yield RoundEnd(stop=turn.stop, usage=usage)


STOPS: tuple[RoundStop, ...] = (
    "tool_use",
    "tool_use",
    "tool_use",
    "end_turn",
    "max_tokens",
    "refusal",
    "filtered",
    "malformed",
)
EXTRA = st.sampled_from(
    [StillWorking(), ThinkingDelta("hm"), OpaqueState(OpaqueBlock(provider="p", payload="{}"))]
)
TURNS = st.builds(
    Turn,
    texts=st.lists(st.sampled_from(["a", " ", "word " * 30]), max_size=3).map(tuple),
    calls=st.lists(st.sampled_from(["probe", "write", "nobody"]), max_size=6).map(tuple),
    extra=st.lists(EXTRA, max_size=2).map(tuple),
    stop=st.sampled_from(STOPS),
    seconds=st.sampled_from([0.0, 0.0, 1.0, 30.0]),
    output=st.integers(0, 3000),
    fails=st.booleans().filter(bool) | st.just(value=False) | st.just(value=False),
)
LIMITS = st.builds(
    LoopLimits,
    rounds=st.integers(1, 6),
    tool_calls=st.integers(0, 8),
    wall_s=st.sampled_from([5.0, 40.0, 240.0]),
    round_output_tokens=st.sampled_from([100, 2048]),
    input_tokens=st.sampled_from([60, 400, 3_000, 150_000]),
    output_tokens=st.sampled_from([64, 500, 8_000]),
)


def play(turns: tuple[Turn, ...], limits: LoopLimits, thrift: float) -> tuple[RunOutcome, ShapedModel, int]:
    clock = FixedClock()
    model = ShapedModel(turns, clock, thrift)

    def slow(_arguments: object) -> ToolOutcome:
        clock.advance(0.5)
        return ToolOutcome(content="found " * 20)

    tools = (ProbeTool("probe", slow), ProbeTool("write", slow, effect="write"))
    outcome, events = run(model.stream, *tools, limits=limits, clock=clock)
    return outcome, model, sum(isinstance(event, ToolStarted) for event in events)


@pytest.mark.req("F-RUN-02", "F-RUN-03", "A-LOOP-01", "A-LOOP-02", "A-LOOP-04")
@given(st.lists(TURNS, min_size=1, max_size=6).map(tuple), LIMITS, st.sampled_from([0.4, 0.8, 1.0]))
@settings(max_examples=300, deadline=None)
def test_no_bound_is_passed_whatever_a_model_does(
    turns: tuple[Turn, ...], limits: LoopLimits, thrift: float
) -> None:
    outcome, model, started = play(turns, limits, thrift)

    assert outcome.rounds == len(model.requests) <= limits.rounds
    assert outcome.tool_calls == started <= limits.tool_calls
    assert outcome.usage.output_tokens <= limits.output_tokens
    assert all(request.max_output_tokens <= limits.round_output_tokens for request in model.requests)
    # The calibration is a quotient of whole numbers: it may be out by one for each round.
    assert outcome.usage.input_tokens <= limits.input_tokens + limits.rounds
    assert all(request.deadline_s > 0 for request in model.requests)
    assert_legal(outcome.thread)
    assert_reason(outcome, model, turns, limits)


def assert_legal(thread: Thread) -> None:
    """Every call has its result in the message after it, under an id that no other call has."""
    ids = [call.call_id for message in thread.messages for call in message.tool_calls]
    assert len(ids) == len(set(ids))
    assert thread.messages[-1].tool_calls == ()
    answered = [b.call_id for m in thread.messages for b in m.blocks if isinstance(b, ToolResultBlock)]
    assert answered == ids


def assert_reason(
    outcome: RunOutcome, model: ShapedModel, turns: tuple[Turn, ...], limits: LoopLimits
) -> None:
    last = turns[min(len(model.requests), len(turns)) - 1] if model.requests else Turn()
    went_on = last.stop == "tool_use" and bool(last.calls)
    match outcome.stop:
        case "max_rounds":
            assert outcome.rounds == limits.rounds
        case "deadline":
            assert sum(t.seconds for t in turns) + 0.5 * outcome.tool_calls > 0
        case "error":
            broke = last.fails or last.stop == "malformed"
            assert broke or (outcome.error is not None and outcome.error.code == "too_large")
        case "end_turn":
            assert last.stop == "end_turn" or not went_on
        case "refusal":
            assert last.stop in ("refusal", "filtered")
        case other:
            assert other == "max_tokens"


@pytest.mark.parametrize(
    ("limits", "stop"),
    [
        (LoopLimits(rounds=2), "max_rounds"),
        (LoopLimits(wall_s=25), "deadline"),
        (LoopLimits(output_tokens=250), "max_tokens"),
        (LoopLimits(input_tokens=200), "max_tokens"),
    ],
)
def test_each_bound_stops_a_model_that_never_ends_by_its_own_name(limits: LoopLimits, stop: LoopStop) -> None:
    endless = Turn(texts=("Looking.",), calls=("probe",), stop="tool_use", seconds=10.0, output=100)

    outcome, _, _ = play((endless,), limits, 1.0)

    assert outcome.stop == stop
    assert stop in TRUNCATED
    assert outcome.text.startswith("Looking.")


def test_a_turn_of_twenty_line_choices_leaves_room_for_no_read() -> None:
    choices = tuple("write" for _ in range(20))
    read, write = Turn(calls=("probe",), stop="tool_use"), Turn(calls=choices, stop="tool_use")

    outcome, _, started = play((read, write, Turn(texts=("Done.",))), LoopLimits(), 1.0)

    results = [b for m in outcome.thread.messages for b in m.blocks if isinstance(b, ToolResultBlock)]
    assert started == 20
    assert [result.ok for result in results].count(True) == 20
    assert "has used all its tool calls" in results[-1].content

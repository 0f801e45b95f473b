"""Reads of one round run side by side, writes alone; each call is answered whatever happens."""

import contextvars
import threading
from collections.abc import Callable, Mapping

import pytest
from equerry.adapters.fixture.script import ScriptedRound, say
from equerry.engine.loop_events import LoopEvent, ToolFinished, ToolSkipped, ToolStarted
from equerry.engine.loop_limits import LoopLimits
from equerry.engine.messages import ToolCallBlock
from equerry.engine.tool import ToolOutcome
from equerry.engine.tool_calls import SIDE_BY_SIDE, WRITE_GRACE_S
from equerry.kernel.errors import Unavailable

from tests.fakes.clock import FixedClock
from tests.unit.engine.playing import LONG_S, ProbeTool, answer_done, ask, contents, run, wish
from tests.unit.engine.test_run_loop import Model

Act = Callable[[Mapping[str, object]], ToolOutcome]


def told(events: list[LoopEvent]) -> list[tuple[str, str]]:
    named = (ToolStarted, ToolFinished, ToolSkipped)
    return [(type(e).__name__[4:], e.call.call_id) for e in events if isinstance(e, named)]


def meet(barrier: threading.Barrier) -> Act:
    """Answer only once as many others are here as the barrier wants."""

    def act(arguments: Mapping[str, object]) -> ToolOutcome:
        barrier.wait(LONG_S)
        return ToolOutcome(content=f"met {arguments['n']}")

    return act


def several(tool: str, count: int) -> tuple[ToolCallBlock, ...]:
    return tuple(wish(tool, f"c{n}", n=n) for n in range(count))


def test_reads_of_one_round_run_side_by_side_and_are_answered_in_the_order_of_the_calls() -> None:
    reader = ProbeTool(act=meet(threading.Barrier(SIDE_BY_SIDE)))

    outcome, _ = run(Model(ask(*several("probe", SIDE_BY_SIDE)), say("Done.")).stream, reader)

    assert list(contents(outcome)) == [f"met {n}" for n in range(SIDE_BY_SIDE)]
    assert outcome.tool_calls == SIDE_BY_SIDE


def test_no_more_than_four_run_at_once() -> None:
    gauge = Gauge()

    run(Model(ask(*several("probe", 11)), say("Done.")).stream, ProbeTool(act=gauge.act))

    assert gauge.most <= SIDE_BY_SIDE == 4


class Gauge:
    """Counts how many are inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self.most = 0
        self.alone = True
        self._room = threading.Event()

    def act(self, _arguments: Mapping[str, object]) -> ToolOutcome:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        self._room.wait(0.02)
        with self._lock:
            self._inside -= 1
        return ToolOutcome(content="done")

    def act_alone(self, _arguments: Mapping[str, object]) -> ToolOutcome:
        with self._lock:
            self.alone = self.alone and self._inside == 0
            self._inside += 1
        self._room.wait(0.02)
        with self._lock:
            self.alone = self.alone and self._inside == 1
            self._inside -= 1
        return ToolOutcome(content="written")


def test_a_write_runs_beside_nothing_and_in_its_place() -> None:
    gauge = Gauge()
    order: list[str] = []

    def note(name: str, act: Act) -> Act:
        def noted(arguments: Mapping[str, object]) -> ToolOutcome:
            order.append(name)
            return act(arguments)

        return noted

    calls = (wish("read", "a"), wish("read", "b"), wish("write", "c"), wish("write", "d"), wish("read", "e"))
    run(
        Model(ask(*calls), say("Done.")).stream,
        ProbeTool("read", note("read", gauge.act)),
        ProbeTool("write", note("write", gauge.act_alone), effect="write"),
    )

    assert order == ["read", "read", "write", "write", "read"]
    assert gauge.alone


def test_starts_and_ends_are_told_by_one_thread_in_the_order_of_the_calls() -> None:
    second_is_done = threading.Event()
    tellers: set[str] = set()

    def act(arguments: Mapping[str, object]) -> ToolOutcome:
        if arguments["n"] == 0:
            second_is_done.wait(LONG_S)
        else:
            second_is_done.set()
        return ToolOutcome(content="done")

    def consume(event: LoopEvent, /) -> None:
        if isinstance(event, ToolStarted | ToolFinished):
            tellers.add(threading.current_thread().name)

    _, events = run(
        Model(ask(*several("probe", 2)), say("Done.")).stream, ProbeTool(act=act), consumer=consume
    )

    assert told(events) == [("Started", "c0"), ("Started", "c1"), ("Finished", "c0"), ("Finished", "c1")]
    assert tellers == {threading.current_thread().name}


@pytest.mark.req("F-RUN-06")
def test_one_that_fails_hurts_no_other() -> None:
    def act(arguments: Mapping[str, object]) -> ToolOutcome:
        if arguments["n"] == 1:
            raise Unavailable("out of order")
        return ToolOutcome(content="fine")

    outcome, events = run(Model(ask(*several("probe", 3)), say("Done.")).stream, ProbeTool(act=act))

    assert list(contents(outcome)) == ["fine", "The tool failed: out of order", "fine"]
    assert [e.ok for e in events if isinstance(e, ToolFinished)] == [True, False, True]


def test_a_bug_in_a_tool_surfaces_as_it_is() -> None:
    def act(arguments: Mapping[str, object]) -> ToolOutcome:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(Model(ask(*several("probe", 3))).stream, ProbeTool(act=act))


@pytest.mark.req("A-LOOP-04")
@pytest.mark.parametrize("limit", range(6))
def test_the_cap_on_calls_is_exact_also_side_by_side(limit: int) -> None:
    tool = ProbeTool()

    outcome, events = run(
        Model(ask(*several("probe", 5)), say("Done.")).stream, tool, limits=LoopLimits(tool_calls=limit)
    )

    assert len(tool.heard) == outcome.tool_calls == min(limit, 5)
    assert sum(isinstance(event, ToolSkipped) for event in events) == 5 - min(limit, 5)


@pytest.mark.req("F-RUN-05")
def test_a_stop_while_reads_run_leaves_them_and_starts_nothing_more() -> None:
    begun, let_go = threading.Event(), threading.Event()
    writer = ProbeTool("write", effect="write")

    def hang(_arguments: Mapping[str, object]) -> ToolOutcome:
        begun.set()
        let_go.wait(LONG_S)
        return ToolOutcome(content="too late")

    outcome, events = run(
        Model(ask(wish("probe", "a"), wish("write", "b"))).stream,
        ProbeTool(act=hang),
        writer,
        should_stop=begun.is_set,
    )
    let_go.set()

    assert outcome.stop == "cancelled"
    assert writer.heard == []
    assert told(events) == [("Started", "a"), ("Finished", "a"), ("Skipped", "b")]
    assert [e.failure for e in events if isinstance(e, ToolFinished)] == ["unfinished"]
    assert "too late" not in "".join(contents(outcome))


@pytest.mark.req("F-RUN-05")
def test_a_stop_between_two_writes_lets_the_first_end_and_never_starts_the_second() -> None:
    stopped = threading.Event()

    def write(_arguments: Mapping[str, object]) -> ToolOutcome:
        stopped.set()
        threading.Event().wait(0.3)  # longer than a look
        return ToolOutcome(content="written")

    tool = ProbeTool("write", write, effect="write")
    outcome, events = run(
        Model(ask(wish("write", "a"), wish("write", "b"))).stream, tool, should_stop=stopped.is_set
    )

    assert len(tool.heard) == 1
    assert list(contents(outcome)) == ["written", "Not run."]
    assert told(events) == [("Started", "a"), ("Finished", "a"), ("Skipped", "b")]


def test_the_outcome_of_a_write_that_hangs_past_its_grace_is_said_to_be_unknown() -> None:
    begun, let_go = threading.Event(), threading.Event()

    def hang(_arguments: Mapping[str, object]) -> ToolOutcome:
        begun.set()
        let_go.wait(LONG_S)
        return ToolOutcome(content="written after all")

    outcome, events = run(
        Model(ask(wish("write", "a"))).stream,
        ProbeTool("write", hang, effect="write"),
        clock=Passing(begun, step_s=WRITE_GRACE_S / 3),
        should_stop=begun.is_set,
    )
    let_go.set()

    assert outcome.stop == "cancelled"
    assert "not known" in "".join(contents(outcome))
    assert [e.failure for e in events if isinstance(e, ToolFinished)] == ["outcome_unknown"]


class Passing(FixedClock):
    """Goes on with every look, once something has begun."""

    def __init__(self, begun: threading.Event, *, step_s: float) -> None:
        super().__init__()
        self._begun = begun
        self._step_s = step_s

    def monotonic_s(self) -> float:
        if self._begun.is_set():
            self.advance(self._step_s)
        return super().monotonic_s()


@pytest.mark.req("F-RUN-03")
def test_wall_time_ends_a_run_whose_tool_hangs() -> None:
    clock, let_go = FixedClock(), threading.Event()

    def hang(_arguments: Mapping[str, object]) -> ToolOutcome:
        clock.advance(61)
        let_go.wait(LONG_S)
        return ToolOutcome(content="too late")

    outcome, _ = run(
        Model(ask(wish("probe", "a"))).stream,
        ProbeTool(act=hang),
        clock=clock,
        limits=LoopLimits(wall_s=60),
    )
    let_go.set()

    assert outcome.stop == "deadline"
    assert list(contents(outcome)) == ["Not finished: the turn was stopped while it ran."]


def test_tools_run_under_the_context_of_whoever_runs_the_loop() -> None:
    place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="nowhere")
    seen: list[str] = []

    def look(_arguments: Mapping[str, object]) -> ToolOutcome:
        seen.append(place.get())
        return ToolOutcome(content="seen")

    place.set("here")
    run(Model(ask(*several("probe", 2)), say("Done.")).stream, ProbeTool(act=look))

    assert seen == ["here", "here"]


def test_a_tool_that_says_nothing_is_answered_with_something() -> None:
    blank = ProbeTool(act=lambda _arguments: ToolOutcome(content=" \n"))

    outcome, _ = run(Model(ask(wish("probe", "a")), say("Done.")).stream, blank)

    assert list(contents(outcome)) == ["(nothing)"]


def test_a_slow_tool_is_timed_by_itself() -> None:
    clock = FixedClock()

    def take(arguments: Mapping[str, object]) -> ToolOutcome:
        clock.advance(0.25)
        return answer_done(arguments)

    _, events = run(
        Model(ScriptedRound(ask(wish("probe", "a")).steps), say("Done.")).stream,
        ProbeTool(act=take),
        clock=clock,
    )

    assert [e.duration_ms for e in events if isinstance(e, ToolFinished)] == [250]

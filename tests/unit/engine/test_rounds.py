"""A model that stalls holds nobody: silence is bounded, and a stop is seen inside it."""

import contextvars
import threading
from collections.abc import Callable, Generator

import pytest
from equerry.engine.loop_events import LoopEvent, RoundFinished, RoundStarted, TextProduced
from equerry.engine.loop_limits import LoopLimits
from equerry.engine.model import ModelEvent, ModelRequest, RoundEnd, StillWorking, TextDelta
from equerry.kernel.errors import EquerryError, Unavailable
from equerry.kernel.usage import Usage

from tests.fakes.clock import FixedClock
from tests.unit.engine.playing import LONG_S, StallingModel, run

Stream = Callable[[ModelRequest], Generator[ModelEvent, None, None]]
END = RoundEnd(stop="end_turn", usage=Usage(input_tokens=5, output_tokens=5))


def taking(seconds: float, clock: FixedClock, inner: Stream) -> Stream:
    """Let time pass once the inner model hangs: its last event is followed by nothing for so long."""

    def stream(request: ModelRequest) -> Generator[ModelEvent, None, None]:
        for event in inner(request):
            yield event
            clock.advance(seconds)

    return stream


@pytest.mark.req("F-RUN-05", "A-TURN-03")
@pytest.mark.parametrize("listens", [True, False])
def test_a_stop_is_seen_while_the_model_says_nothing(listens: bool) -> None:
    model = StallingModel(TextDelta("So far"), listens=listens)
    said = threading.Event()

    def consume(event: LoopEvent, /) -> None:
        if isinstance(event, TextProduced):
            said.set()

    outcome, _ = run(model.stream, should_stop=said.is_set, consumer=consume)

    assert (outcome.stop, outcome.text) == ("cancelled", "So far")
    assert model.request is not None
    assert model.request.cancellation.cancelled
    assert outcome.unmetered.output_tokens > 0
    if listens:
        assert model.closed.wait(LONG_S)
    model.let_go.set()


def test_a_stop_before_anything_was_said_ends_the_wait_for_the_first_word() -> None:
    model = StallingModel()
    started = threading.Event()

    outcome, events = run(model.stream, should_stop=started.is_set, consumer=lambda _event: started.set())

    assert outcome.stop == "cancelled"
    assert [type(event) for event in events] == [RoundStarted, RoundFinished]


def test_nothing_that_a_left_model_still_says_is_taken() -> None:
    model = StallingModel(TextDelta("So far"), listens=False)
    said = threading.Event()

    def consume(event: LoopEvent, /) -> None:
        if isinstance(event, TextProduced):
            said.set()

    outcome, events = run(model.stream, should_stop=said.is_set, consumer=consume)
    seen = len(events)
    model.let_go.set()

    assert model.closed.wait(LONG_S)
    assert len(events) == seen
    assert outcome.usage == Usage()


def test_a_model_that_never_begins_is_not_available() -> None:
    clock = FixedClock()
    model = StallingModel()

    def stream(request: ModelRequest) -> Generator[ModelEvent, None, None]:
        clock.advance(31)
        yield from model.stream(request)

    outcome, _ = run(stream, clock=clock, limits=LoopLimits(first_chunk_s=30))

    assert outcome.stop == "error"
    assert outcome.error is not None
    assert (outcome.error.code, "30 s" in str(outcome.error)) == ("model_unavailable", True)


def test_a_model_that_goes_silent_is_told_apart_and_keeps_what_it_had_said() -> None:
    clock = FixedClock()
    model = StallingModel(TextDelta("Half an ans"))

    outcome, _ = run(
        taking(21, clock, model.stream), clock=clock, limits=LoopLimits(first_chunk_s=300, inter_chunk_s=20)
    )

    assert (outcome.stop, outcome.text) == ("error", "Half an ans")
    assert outcome.error is not None
    assert outcome.error.code == "model_timeout"
    assert outcome.error.retryable


def test_signs_of_life_are_no_silence() -> None:
    clock = FixedClock()

    def stream(_request: ModelRequest) -> Generator[ModelEvent, None, None]:
        for _ in range(5):
            clock.advance(15)
            yield StillWorking()
        yield TextDelta("At last.")
        yield END

    outcome, _ = run(stream, clock=clock, limits=LoopLimits(first_chunk_s=20, inter_chunk_s=20))

    assert (outcome.stop, outcome.text) == ("end_turn", "At last.")


@pytest.mark.req("F-RUN-03")
def test_wall_time_ends_a_run_whose_model_hangs() -> None:
    clock = FixedClock()
    model = StallingModel(TextDelta("So far"))

    outcome, _ = run(taking(61, clock, model.stream), clock=clock, limits=LoopLimits(wall_s=60))

    assert (outcome.stop, outcome.text, outcome.error) == ("deadline", "So far", None)


@pytest.mark.req("F-RUN-03")
def test_wall_time_ends_a_run_whose_model_never_stops_talking() -> None:
    clock = FixedClock()

    def stream(_request: ModelRequest) -> Generator[ModelEvent, None, None]:
        while True:
            clock.advance(1)
            yield TextDelta("and ")

    outcome, _ = run(stream, clock=clock, limits=LoopLimits(wall_s=10))

    assert outcome.stop == "deadline"
    assert outcome.text.count("and") < 10


@pytest.mark.req("F-RUN-03")
def test_an_adapter_that_notices_the_deadline_first_is_no_failure() -> None:
    clock = FixedClock()

    def stream(_request: ModelRequest) -> Generator[ModelEvent, None, None]:
        yield TextDelta("So far")
        clock.advance(60)
        raise Unavailable("the model did not finish before the deadline")

    outcome, _ = run(stream, clock=clock, limits=LoopLimits(wall_s=60))

    assert (outcome.stop, outcome.error) == ("deadline", None)


def test_a_stream_without_its_end_is_a_failure_and_never_a_short_answer() -> None:
    def stream(_request: ModelRequest) -> Generator[ModelEvent, None, None]:
        yield TextDelta("Half")

    outcome, _ = run(stream)

    assert (outcome.stop, outcome.text) == ("error", "Half")
    assert isinstance(outcome.error, EquerryError)


def test_a_bug_in_an_adapter_surfaces_as_it_is() -> None:
    def stream(_request: ModelRequest) -> Generator[ModelEvent, None, None]:
        yield TextDelta("Half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(stream)


def test_what_a_consumer_raises_ends_the_stream_and_surfaces() -> None:
    closed = threading.Event()

    def stream(_request: ModelRequest) -> Generator[ModelEvent, None, None]:
        try:
            yield TextDelta("a")
            yield TextDelta("b")
        finally:
            closed.set()

    def consume(event: LoopEvent, /) -> None:
        if isinstance(event, TextProduced):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(stream, consumer=consume)

    assert closed.wait(LONG_S)


def test_the_round_is_read_under_the_context_of_whoever_runs_it() -> None:
    place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="nowhere")
    seen: list[str] = []

    def stream(_request: ModelRequest) -> Generator[ModelEvent, None, None]:
        seen.append(place.get())
        yield END

    place.set("here")
    run(stream)

    assert seen == ["here"]


def test_a_hanging_round_takes_no_thread_from_the_next_run() -> None:
    hanging = [StallingModel(listens=False) for _ in range(3)]
    for model in hanging:
        run(model.stream, should_stop=stop_at_second_look())

    def stream(_request: ModelRequest) -> Generator[ModelEvent, None, None]:
        yield END

    outcome, _ = run(stream)

    assert outcome.stop == "end_turn"
    for model in hanging:
        model.let_go.set()
        assert model.closed.wait(LONG_S)


def stop_at_second_look() -> Callable[[], bool]:
    looks = iter([False])
    return lambda: next(looks, True)

"""Time is kept beside the run: text and heartbeats leave when due, and a failure reaches the run."""

import threading
import time
from collections.abc import Callable

import pytest
from equerry.channel.envelope import Envelope
from equerry.channel.events import Done, Step, Token
from equerry.channel.publisher import Publisher
from equerry.channel.timekeeping import keep_time
from equerry.kernel.errors import Conflict
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.kernel.usage import Usage

from tests.fakes.clock import FixedClock
from tests.unit.channel.test_publisher import Recorder

PATIENCE_S = 30.0


class SteppedAlarm:
    """An alarm whose every wait a test ends; `set` is remembered like an event's."""

    def __init__(self) -> None:
        self.waited_s: list[float] = []
        self._waiting = threading.Semaphore(0)
        self._going = threading.Semaphore(0)
        self._free = threading.Event()

    def set(self) -> None:
        pass

    def clear(self) -> None:
        pass

    def wait(self, timeout: float) -> None:
        self.waited_s.append(timeout)
        self._waiting.release()
        if not self._free.is_set():
            assert self._going.acquire(timeout=PATIENCE_S)

    def await_wait(self) -> float:
        """Return once the timekeeper waits, and for how long it would."""
        assert self._waiting.acquire(timeout=PATIENCE_S)
        return self.waited_s[-1]

    def ring(self) -> None:
        """Let the time be over."""
        self._going.release()

    def release(self) -> None:
        """Let every wait be over, this one and those to come."""
        self._free.set()
        self._going.release()


def publisher(recorder: Recorder, clock: FixedClock) -> Publisher:
    return Publisher(
        run_id=RunId("r"), conversation_id=ConversationId("c"), broadcaster=recorder, clock=clock
    )


def test_what_is_due_leaves_while_the_run_says_nothing() -> None:
    recorder, clock, alarm = Recorder(), FixedClock(), SteppedAlarm()
    writer = publisher(recorder, clock)
    with keep_time(writer, alarm=alarm):
        assert alarm.await_wait() == 15
        writer.publish(Token(delta="at once, "))
        writer.publish(Token(delta="soon"))
        alarm.ring()
        clock.advance(alarm.await_wait())
        alarm.ring()
        silence_s = alarm.await_wait()
        texts = [envelope.payload["delta"] for envelope in recorder.delivered]
        clock.advance(silence_s)
        alarm.ring()
        alarm.await_wait()
        beats = list(recorder.beats)
        alarm.release()

    assert texts == ["at once, ", "soon"]
    assert beats == [2]


def test_a_real_alarm_wakes_for_text_and_stops_with_the_block() -> None:
    recorder, shown = Recorder(), threading.Event()
    clock = FixedClock()
    writer = publisher(recorder, clock)
    deliver = recorder.deliver
    recorder.deliver = lambda envelope: (shown.set(), deliver(envelope))[1]  # type: ignore[method-assign, func-returns-value]  # to wait for a frame without looking at the time
    with keep_time(writer):
        writer.publish(Token(delta="a"))
        shown.clear()
        clock.advance(0.01)
        writer.publish(Token(delta="b"))
        clock.advance(1)
        assert shown.wait(PATIENCE_S)

    assert [envelope.payload["delta"] for envelope in recorder.delivered] == ["a", "b"]
    assert "timekeeper" not in {thread.name for thread in threading.enumerate()}


def await_failure(writer: Publisher) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not writer.has_failed:
        assert time.monotonic() < deadline_s
        time.sleep(0.001)


@pytest.mark.parametrize("failure", [Conflict("another has written 2"), KeyError("a bug of ours")])
def test_a_failure_beside_the_run_ends_the_run_as_it_would_have_in_it(failure: Exception) -> None:
    recorder, clock, alarm = Recorder(), FixedClock(), SteppedAlarm()
    writer = publisher(recorder, clock)
    with keep_time(writer, alarm=alarm):
        alarm.await_wait()
        writer.publish(Token(delta="a"))
        writer.publish(Token(delta="b"))
        recorder.failure = failure
        clock.advance(1)
        alarm.ring()
        await_failure(writer)
        recorder.failure = None

        calls: list[Callable[[], None]] = [
            lambda: writer.publish(Step(stage="answering", label="On")),
            lambda: writer.publish(Done(stop_reason="end_turn", usage=Usage())),
            writer.flush,
        ]
        for call in calls:
            with pytest.raises(type(failure)) as raised:
                call()
            assert raised.value is failure

    assert [envelope.payload["delta"] for envelope in recorder.delivered] == ["a"]


class SlowRecorder(Recorder):
    """Lets another thread in wherever a real store would."""

    def persist(self, envelope: Envelope) -> Envelope:
        time.sleep(0.0005)
        return super().persist(envelope)


def test_many_threads_that_speak_at_once_are_one_writer() -> None:
    recorder = SlowRecorder()
    writer = publisher(recorder, FixedClock())
    start = threading.Barrier(4)

    def speak(word: str) -> None:
        start.wait()
        for _ in range(20):
            writer.publish(Token(delta=word))
            writer.tick()
            writer.publish(Step(stage="answering", label=word))

    threads = [threading.Thread(target=speak, args=(word,)) for word in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [envelope.seq for envelope in recorder.delivered] == list(range(1, writer.last_seq + 1))
    text = "".join(str(e.payload["delta"]) for e in recorder.delivered if e.type == "token")
    assert {word: text.count(word) for word in "abcd"} == dict.fromkeys("abcd", 20)

"""The time and the connection of one attempt."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

from equerry.adapters.rounds.failures import AttemptFailed, broke_off
from equerry.engine.cancellation import Cancellation
from equerry.engine.threads import THREADS
from equerry.kernel.clock import Clock
from equerry.kernel.kinds import value
from equerry.ports.model import ModelCancelled, ModelUnavailable

_T = TypeVar("_T")
_LINGER_S = 0.25
"""How long a response may take to end after what it said was its end."""


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds; the request's deadline stands above all of them.

    Attributes:
        connect: to be connected.
        idle: without a byte. Providers send signs of life while they think, so silence means that it is gone.
        first_event: until the answer begins, signs of life or not.
    """

    connect: float = 5.0
    idle: float = 45.0
    first_event: float = 60.0


class Attempt:
    """Bounds one attempt: by the deadline, by the provider's silence, and by whoever cancels the round."""

    def __init__(
        self, *, clock: Clock, deadline_s: float, timeouts: Timeouts, cancellation: Cancellation
    ) -> None:
        self._clock = clock
        self._deadline_s = deadline_s
        self._timeouts = timeouts
        self._cancellation = cancellation
        self._sent_s = clock.monotonic_s()
        self._begun = False
        self._hang_up: Callable[[], None] = _keep

    @property
    def clock(self) -> Clock:
        """The clock that measures it."""
        return self._clock

    @property
    def left_s(self) -> float:
        """Until the deadline."""
        return self._deadline_s - self._clock.monotonic_s()

    @property
    def connect_s(self) -> float:
        """How long connecting may take."""
        return min(self._timeouts.connect, max(0.001, self.left_s))

    @property
    def idle_s(self) -> float:
        """How long the provider may send nothing at all."""
        return min(self._timeouts.idle, max(0.001, self.left_s))

    def check(self, *, begun: bool = False) -> None:
        """Called before sending and with everything received; `begun` once the answer has.

        Raises:
            AttemptFailed: the time is up, or the round was cancelled.
        """
        self.require_time()
        self._begun = self._begun or begun
        if not self._begun and self._clock.monotonic_s() - self._sent_s > self._timeouts.first_event:
            raise broke_off(f"did not begin within {self._timeouts.first_event:g} s")

    def require_time(self) -> None:
        """Tell the two ends that no provider causes from those that one does.

        Raises:
            AttemptFailed: the deadline has passed, or the round was cancelled.
        """
        if self._cancellation.cancelled:
            raise AttemptFailed(ModelCancelled("the round was cancelled"), retryable=False)
        if self._clock.monotonic_s() >= self._deadline_s:
            late = ModelUnavailable("the model did not finish before the deadline", cause="timeout")
            raise AttemptFailed(late, retryable=False)

    def wait_for(self, call: Callable[[], _T], *, discard: Callable[[_T], None]) -> _T:
        """Return what `call` returns: connecting, and waiting for the head of the answer, can hang.

        One that is late is left behind in its thread, and what it brings then is given to `discard`.

        Raises:
            AttemptFailed: the deadline has passed, or the round was cancelled.
            Exception: whatever `call` raised.
        """
        brought: Future[_T] = Future()
        THREADS.start(partial(_run, call, brought), SimpleQueue())
        done = threading.Event()
        brought.add_done_callback(lambda _: done.set())
        with self._cancellation.interrupting(done.set):
            done.wait(max(0.0, self.left_s))
        if not brought.done():
            brought.add_done_callback(partial(_throw_away, discard))
            self.require_time()
        return brought.result()

    @contextmanager
    def interrupting(self, hang_up: Callable[[], None]) -> Iterator[None]:
        """Call `hang_up` from another thread at the deadline and on cancellation.

        It must end a read that waits; what the read then raises is told as what it was.
        """
        self._hang_up = hang_up
        with _alarm(max(0.0, self.left_s), hang_up), self._cancellation.interrupting(hang_up):
            yield

    def drain(self, events: Iterable[object]) -> None:
        """Read what is left of a response whose end was told: only then is its connection used again.

        A provider that does not end it at once loses the connection and nothing else.
        """
        with _alarm(_LINGER_S, self._hang_up), suppress(AttemptFailed):
            deque(events, maxlen=0)


def _keep() -> None:
    """There is no connection yet."""


@contextmanager
def _alarm(after_s: float, ring: Callable[[], None]) -> Iterator[None]:
    """Call `ring` from another thread unless the block is left before."""
    over = threading.Event()

    def watch() -> None:
        if not over.wait(after_s):
            ring()

    THREADS.start(watch, SimpleQueue())
    try:
        yield
    finally:
        over.set()


def _throw_away(discard: Callable[[_T], None], late: "Future[_T]") -> None:
    if late.exception() is None:
        discard(late.result())


def _run(call: Callable[[], _T], brought: "Future[_T]") -> None:
    try:
        brought.set_result(call())
    except BaseException as failure:  # noqa: BLE001  # raised again by whoever waits
        brought.set_exception(failure)

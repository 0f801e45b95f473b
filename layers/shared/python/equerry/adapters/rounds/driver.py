"""Plays rounds over one provider's wire: the attempts, the waits between them, and the one deadline."""

from collections.abc import Callable
from contextlib import closing
from itertools import count
from typing import Any, Protocol

from equerry.adapters.rounds.allowance import bound_words
from equerry.adapters.rounds.attempt import Attempt, Timeouts
from equerry.adapters.rounds.failures import AttemptFailed
from equerry.adapters.rounds.retrying import RetryPolicy
from equerry.engine.cancellation import Cancellation
from equerry.engine.model import ModelChoice, ModelRequest, ModelStream, StillWorking
from equerry.kernel.clock import Clock
from equerry.ports.model import ModelUnavailable

TIMEOUTS = Timeouts()
RETRIES = RetryPolicy()
_NAP_S = 0.25

Json = dict[str, Any]


class Wire(Protocol):
    """What a provider's adapter consists of; it neither retries nor knows the deadline."""

    @property
    def choice(self) -> ModelChoice: ...

    def encode(self, request: ModelRequest) -> Json:
        """Return the request in the provider's form; the same for every attempt.

        Raises:
            InputUnsupported: see there.
        """
        ...

    def play(self, body: Json, attempt: Attempt) -> ModelStream:
        """Send `body` once and yield the round as it comes, with exactly one RoundEnd, last.

        Waits are bounded by `attempt`, which is asked with everything received. Closing it closes the
        connection.

        Raises:
            AttemptFailed: whatever the provider or the network did; nothing else is caught.
        """
        ...


class DrivenModelAdapter:
    """A provider's model: retries what failed before its first event, and obeys one deadline."""

    def __init__(
        self,
        wire: Wire,
        *,
        clock: Clock,
        jitter: Callable[[], float],
        timeouts: Timeouts = TIMEOUTS,
        retries: RetryPolicy = RETRIES,
    ) -> None:
        self._wire = wire
        self._clock = clock
        self._jitter = jitter
        self._timeouts = timeouts
        self._retries = retries

    @property
    def choice(self) -> ModelChoice:
        """The model as the provider names it."""
        return self._wire.choice

    def stream(self, request: ModelRequest) -> ModelStream:
        """See ModelPort."""
        deadline_s = self._clock.monotonic_s() + request.deadline_s
        body = self._wire.encode(request)
        for number in count(1):
            attempt = Attempt(
                clock=self._clock,
                deadline_s=deadline_s,
                timeouts=self._timeouts,
                cancellation=request.cancellation,
            )
            begun = False
            try:
                attempt.check()
                with closing(self._wire.play(body, attempt)) as events:
                    for event in bound_words(events, request.max_output_tokens):
                        begun = begun or not isinstance(event, StillWorking)
                        yield event
                return
            except AttemptFailed as failure:
                told = _explain(failure, attempt)
                wait_s = None if begun else self._find_wait_s(told, request, number, attempt)
                if wait_s is None:
                    raise _count(told, number).outcome from None
            self._wait(wait_s, request.cancellation)

    def _find_wait_s(
        self, failure: AttemptFailed, request: ModelRequest, number: int, attempt: Attempt
    ) -> float | None:
        if number >= request.attempts:
            return None
        return self._retries.find_wait_s(failure, attempt=number, left_s=attempt.left_s, jitter=self._jitter)

    def _wait(self, seconds: float, cancellation: Cancellation) -> None:
        while seconds > 0 and not cancellation.cancelled:
            self._clock.sleep(min(_NAP_S, seconds))
            seconds -= _NAP_S


def _explain(failure: AttemptFailed, attempt: Attempt) -> AttemptFailed:
    """A read that was hung up on looks like a lost connection, and is none."""
    try:
        attempt.require_time()
    except AttemptFailed as reason:
        return reason
    return failure


def _count(failure: AttemptFailed, attempts: int) -> AttemptFailed:
    if isinstance(failure.outcome, ModelUnavailable):
        failure.outcome.attempts = attempts
    return failure

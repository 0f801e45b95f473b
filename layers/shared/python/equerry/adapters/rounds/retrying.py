"""When another attempt is worth making."""

from collections.abc import Callable
from dataclasses import dataclass

from equerry.adapters.rounds.failures import AttemptFailed
from equerry.kernel.kinds import value


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Doubling waits with jitter, inside a deadline.

    Attributes:
        attempts: in all, at least 1; a request may allow fewer.
        first_wait_s: before jitter; doubles up to `longest_wait_s`.
        least_useful_s: an attempt with less time than this is not worth its cost.
    """

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    least_useful_s: float = 5.0

    def find_wait_s(
        self, failure: AttemptFailed, *, attempt: int, left_s: float, jitter: Callable[[], float]
    ) -> float | None:
        """Return how long to wait before the next attempt; None when there should be none.

        Args:
            attempt: how many were made, from 1.
            left_s: until the deadline.
            jitter: uniform in [0, 1).
        """
        if not failure.retryable or attempt >= self.attempts:
            return None
        backoff = min(self.first_wait_s * 2 ** (attempt - 1), self.longest_wait_s) * (0.5 + jitter() / 2)
        wait = backoff if failure.retry_after_s is None else max(backoff, failure.retry_after_s)
        return wait if wait + self.least_useful_s <= left_s else None

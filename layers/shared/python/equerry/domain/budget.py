"""An organisation's rolling token budget, in hourly buckets.

The window is computed from the time alone: the hour that runs and the 24 before it. That is up to an hour
more than a day, and so no 24 hours, wherever they begin, hold more than the budget.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from equerry.domain.limits import TurnLimits
from equerry.kernel.errors import LimitReached
from equerry.kernel.kinds import value

WINDOW_HOURS = 24
KEPT_HOURS = 48
"""Buckets older than this may be forgotten; those in between are only there for clocks that differ."""
LEAST_OUTPUT_TOKENS = 1_024
"""A turn whose budget runs short still gets an answer of this length."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR = timedelta(hours=1)


class DailyLimitReached(LimitReached):
    """The organisation has fewer tokens left than a turn needs at least."""

    code = "assistant_daily_limit"

    def __init__(self, *, left: int, retry_after_s: int) -> None:
        minutes = -(-retry_after_s // 60)
        super().__init__(
            f"your organisation has used up its assistant for now; more is free in about {minutes} minutes",
            retry_after_s=retry_after_s,
        )
        self.left = left


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Tokens set aside for one turn, in the bucket `hour` (hours since 1970).

    Attributes:
        full: False if the budget ran short: the turn does without optional context.
    """

    hour: int
    input_tokens: int
    output_tokens: int
    full: bool = True

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


@value
@dataclass(frozen=True, slots=True)
class SpendWindow:
    """Tokens charged, by hour; a turn that runs counts with all it reserved."""

    hours: Mapping[int, int] = field(default_factory=dict)

    def spent(self, now: datetime) -> int:
        """Return what the window that ends at `now` holds; a bucket from a faster clock's future counts."""
        first = derive_hour(now) - WINDOW_HOURS
        return sum(tokens for hour, tokens in self.hours.items() if hour >= first)

    def reserve(self, limits: TurnLimits, now: datetime) -> Reservation:
        """Return what a turn may set aside: all of it, or what is left if that is at least the floor.

        Raises:
            DailyLimitReached: fewer tokens than the floor are left.
        """
        left = limits.daily_tokens - self.spent(now)
        if left < limits.floor_tokens:
            raise DailyLimitReached(left=max(0, left), retry_after_s=self._wait_s(limits, now))
        hour = derive_hour(now)
        if left >= limits.turn_tokens:
            return Reservation(
                hour=hour, input_tokens=limits.turn_input_tokens, output_tokens=limits.turn_output_tokens
            )
        output = _shrink_output(limits, left)
        return Reservation(hour=hour, input_tokens=left - output, output_tokens=output, full=False)

    def charge(self, hour: int, tokens: int) -> "SpendWindow":
        """Return the window with a bucket changed by `tokens`, which a refund makes negative."""
        return replace(self, hours={**self.hours, hour: self.hours.get(hour, 0) + tokens})

    def list_forgettable(self, now: datetime) -> tuple[int, ...]:
        """Return the hours that no clock can still count, oldest first."""
        return tuple(sorted(hour for hour in self.hours if hour < derive_hour(now) - KEPT_HOURS))

    def _wait_s(self, limits: TurnLimits, now: datetime) -> int:
        """Return the seconds until so many buckets have left the window that a turn fits, at least 1."""
        excess = self.spent(now) - (limits.daily_tokens - limits.floor_tokens)
        first = derive_hour(now) - WINDOW_HOURS
        leaves = first
        for hour in sorted(hour for hour in self.hours if hour >= first):
            leaves, excess = hour, excess - self.hours[hour]
            if excess <= 0:
                break
        free_at = _EPOCH + (leaves + WINDOW_HOURS + 1) * _HOUR
        return max(1, -(-(free_at - now) // timedelta(seconds=1)))


def derive_hour(moment: datetime) -> int:
    """Return the bucket of a moment: whole hours since 1970."""
    return (moment - _EPOCH) // _HOUR


def _shrink_output(limits: TurnLimits, left: int) -> int:
    share = left * limits.turn_output_tokens // limits.turn_tokens
    return min(limits.turn_output_tokens, left - 1, max(LEAST_OUTPUT_TOKENS, share))

"""How many turns a minute: exact over any 60 s, counted for a person and for an organisation."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from equerry.kernel.errors import LimitReached
from equerry.kernel.kinds import value

RateSubject = Literal["user", "organisation"]
WINDOW = timedelta(seconds=60)
_WHOSE: dict[RateSubject, str] = {"user": "you have", "organisation": "your organisation has"}


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class RateStanding:
    """How much of a rate is left.

    Attributes:
        remaining: turns that may follow at once.
        reset_s: seconds until the oldest counted turn no longer counts.
    """

    subject: RateSubject
    quota: int
    remaining: int
    reset_s: int


class RateLimited(LimitReached):
    """Too many turns in the last minute."""

    code = "rate_limited"

    def __init__(self, standing: RateStanding, *, retry_after_s: int) -> None:
        super().__init__(
            f"{_WHOSE[standing.subject]} asked {standing.quota} times within a minute; "
            f"ask again in {retry_after_s} s",
            retry_after_s=retry_after_s,
        )
        self.standing = standing


@value
@dataclass(frozen=True, slots=True)
class RecentTurns:
    """When turns were accepted, oldest first; only the last 60 s count."""

    at: tuple[datetime, ...] = ()

    def take(self, now: datetime) -> "RecentTurns":
        """Return the turns that still count, and one more."""
        return RecentTurns((*self._counted(now), now))

    def require_room(self, subject: RateSubject, quota: int, now: datetime) -> None:
        """Let one more turn pass.

        Raises:
            RateLimited: `quota` turns were accepted in the last 60 s.
        """
        counted = self._counted(now)
        if len(counted) >= quota:
            wait_s = _seconds_until(counted[len(counted) - quota] + WINDOW, now)
            raise RateLimited(self.stand(subject, quota, now), retry_after_s=wait_s)

    def stand(self, subject: RateSubject, quota: int, now: datetime) -> RateStanding:
        """Return what is left of `quota`."""
        counted = self._counted(now)
        return RateStanding(
            subject=subject,
            quota=quota,
            remaining=max(0, quota - len(counted)),
            reset_s=_seconds_until(counted[0] + WINDOW, now) if counted else 0,
        )

    def _counted(self, now: datetime) -> tuple[datetime, ...]:
        return tuple(sorted(moment for moment in self.at if moment > now - WINDOW))


def _seconds_until(moment: datetime, now: datetime) -> int:
    return max(1, -(-(moment - now) // timedelta(seconds=1)))

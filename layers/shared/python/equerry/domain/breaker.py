"""When a model that fails is left alone, for how long, and how its recovery is noticed."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from equerry.engine.model import ModelChoice
from equerry.kernel.kinds import record, value


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class Cooling:
    """A model that is left alone until a moment; then one caller, and only one, tries it.

    Attributes:
        times: how often in a row it has been cooled, from 1.
        cause: of the last failure, for people.
    """

    choice: ModelChoice
    until: datetime
    times: int
    cause: str

    def is_over(self, now: datetime) -> bool:
        """Whether somebody may try."""
        return now >= self.until


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """How patient the breaker is.

    Attributes:
        failures: attempts that must fail in a row, in one process, before a model is cooled.
        first: how long it is cooled first; doubles up to `longest`, which bounds a provider's wish too.
        probe: how long the one who tries keeps the others away.
    """

    failures: int = 3
    first: timedelta = timedelta(seconds=15)
    longest: timedelta = timedelta(seconds=120)
    probe: timedelta = timedelta(seconds=30)

    def cool(
        self, choice: ModelChoice, now: datetime, *, times: int, cause: str, wish_s: float | None = None
    ) -> Cooling:
        """Return the cooling that follows `times - 1` others in a row; `wish_s` is the provider's own."""
        # An outage of hours is cooled so often that the doubled time is beyond what a timedelta holds.
        doublings = min(times - 1, self.longest // self.first)
        spell = min(self.first * 2**doublings, self.longest)
        if wish_s is not None:
            spell = min(max(spell, timedelta(seconds=wish_s)), self.longest)
        return Cooling(choice=choice, until=now + spell, times=times, cause=cause)

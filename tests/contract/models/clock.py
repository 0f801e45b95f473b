"""A clock that only moves when somebody sleeps."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


@dataclass(slots=True)
class ScriptedClock:
    """Starts at 0 s; `slept` holds every wait, in order."""

    elapsed_s: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.elapsed_s)

    def monotonic_s(self) -> float:
        return self.elapsed_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.elapsed_s += max(0.0, seconds)

"""Clocks that tests decide."""

import threading
from datetime import UTC, datetime, timedelta

NOON = datetime(2031, 5, 6, 12, 0, tzinfo=UTC)


class FixedClock:
    """Stands still until it is advanced; sleeping advances it."""

    def __init__(self, at: datetime = NOON) -> None:
        self._start = at
        self._passed_s = 0.0
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._start + timedelta(seconds=self._passed_s)

    def monotonic_s(self) -> float:
        with self._lock:
            return self._passed_s

    def sleep(self, seconds: float) -> None:
        self.advance(max(seconds, 0.0))

    def advance(self, seconds: float) -> None:
        """Let time pass; never back."""
        if seconds < 0:
            raise ValueError(f"time does not go back, got {seconds}")
        with self._lock:
            self._passed_s += seconds


class SteppingClock(FixedClock):
    """Moves on by `step_s` with every look at it."""

    def __init__(self, at: datetime = NOON, *, step_s: float = 1.0) -> None:
        super().__init__(at)
        self._step_s = step_s

    def now(self) -> datetime:
        self.advance(self._step_s)
        return super().now()

    def monotonic_s(self) -> float:
        self.advance(self._step_s)
        return super().monotonic_s()

"""Time, passed in so that tests decide it."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time for what is recorded, monotonic time for what is measured."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary start; never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; returns at once for 0 or less."""
        ...

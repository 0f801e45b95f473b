"""The machine's clock."""

import time
from datetime import UTC, datetime


class SystemClock:
    """Clock of the running process."""

    def now(self) -> datetime:
        """See Clock."""
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        """See Clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """See Clock."""
        time.sleep(max(0.0, seconds))

"""Progress in lines, for whoever watches a log."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

EVERY_S = 5.0


@dataclass(slots=True, kw_only=True)
class Teller:
    """Passes a line on if the last one, or the beginning, was five seconds ago."""

    write: Callable[[str], object]
    clock: Callable[[], float] = time.monotonic
    _last: float = field(init=False)

    def __post_init__(self) -> None:
        self._last = self.clock()

    def __call__(self, line: str) -> None:
        """Tell it, or leave it out."""
        if self.clock() - self._last >= EVERY_S:
            self._last = self.clock()
            self.write(line)

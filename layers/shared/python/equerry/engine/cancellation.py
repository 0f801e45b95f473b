"""Stopping work that waits in another thread."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Cancellation:
    """Set once, by any thread; whoever waits for something says here how to end the waiting."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._hang_ups: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """Whether it was asked for."""
        return self._cancelled

    def cancel(self) -> None:
        """End every wait that is going on, and those to come; a second time does nothing."""
        with self._lock:
            hang_ups = [] if self._cancelled else list(self._hang_ups)
            self._cancelled = True
        for hang_up in hang_ups:
            hang_up()

    @contextmanager
    def interrupting(self, hang_up: Callable[[], None]) -> Iterator[None]:
        """Call `hang_up` on cancellation, at once if that has been; it must be quick and may come twice."""
        with self._lock:
            self._hang_ups.append(hang_up)
            late = self._cancelled
        if late:
            hang_up()
        try:
            yield
        finally:
            with self._lock:
                self._hang_ups.remove(hang_up)

"""Requests to stop a run, in memory."""

import threading

from equerry.kernel.identifiers import RunId


class MemoryInterruptAdapter:
    """InterruptPort over a set."""

    def __init__(self) -> None:
        self._asked: set[RunId] = set()
        self._lock = threading.Lock()

    def request_interrupt(self, run_id: RunId) -> None:
        with self._lock:
            self._asked.add(run_id)

    def is_interrupted(self, run_id: RunId) -> bool:
        with self._lock:
            return run_id in self._asked

    def clear_interrupt(self, run_id: RunId) -> None:
        with self._lock:
            self._asked.discard(run_id)

"""Work in threads that whoever waits for it may leave behind."""

import threading
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_KEPT = 8


class Task(Generic[T]):
    """Work in another thread, under the context of whoever asked for it; its end is told to `ended`."""

    def __init__(self, act: Callable[[], T], ended: "SimpleQueue[Task[Any]]") -> None:
        self._act = act
        self._ended = ended
        self._context = copy_context()
        self._failure: BaseException | None = None
        self._result: T

    def run(self) -> None:
        """Do the work; raises nothing."""
        try:
            self._result = self._context.run(self._act)
        except BaseException as failure:  # noqa: BLE001  # raised again by `result`, where it is awaited
            self._failure = failure

    def tell(self) -> None:
        """Say that it has ended."""
        self._ended.put(self)

    def result(self) -> T:
        """Return what the work returned, or raise what it raised; not before its end was told."""
        if self._failure is not None:
            raise self._failure
        return self._result


class Threads:
    """Daemon threads, kept for the next work. Work that hangs keeps its own thread and nobody else's."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Task[Any]]] = []

    def start(self, act: Callable[[], T], ended: "SimpleQueue[Task[Any]]") -> Task[T]:
        """Have `act` done; the task is put into `ended` when it was."""
        task = Task(act, ended)
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name="engine", daemon=True).start()
        inbox.put(task)
        return task

    def _serve(self, inbox: "SimpleQueue[Task[Any]]") -> None:
        kept = True
        while kept:
            task = inbox.get()
            task.run()
            # Idle before anyone hears of the end, so that who hears of it finds this thread.
            if kept := len(self._idle) < _KEPT:
                self._idle.append(inbox)
            task.tell()
            del task


THREADS = Threads()
"""Those of this process: a Lambda container's next turn finds them waiting."""

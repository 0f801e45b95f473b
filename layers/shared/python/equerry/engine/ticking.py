"""Reading something slow, and being woken while it says nothing."""

from collections.abc import Generator, Iterator
from contextlib import closing
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from equerry.engine.threads import THREADS, Task

T = TypeVar("T")


def tick(events: Generator[T, None, None], *, every_s: float) -> Iterator[T | None]:
    """Yield each event as it comes, and None whenever nothing came for `every_s`.

    They are read in a thread, which goes on to their end even if nobody asks for them any more. Raises what
    they raise.
    """
    came: SimpleQueue[tuple[T] | None] = SimpleQueue()
    ended: SimpleQueue[Task[Any]] = SimpleQueue()

    def read() -> None:
        try:
            with closing(events):
                for event in events:
                    came.put((event,))
        finally:
            came.put(None)

    THREADS.start(read, ended)
    while True:
        try:
            event = came.get(timeout=every_s)
        except Empty:
            yield None
            continue
        if event is None:
            break
        yield event[0]
    ended.get().result()

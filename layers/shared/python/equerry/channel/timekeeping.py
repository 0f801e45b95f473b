"""Keeps time for a publisher, in one thread beside the run."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from typing import Protocol

from equerry.channel.publisher import Publisher

KeepTime = Callable[[Publisher], AbstractContextManager[None]]
"""Keeps time for a publisher while the block runs."""


class Alarm(Protocol):
    """What a timekeeper waits on: as much of `threading.Event` as it uses."""

    def set(self) -> None: ...

    def clear(self) -> None: ...

    def wait(self, timeout: float) -> object: ...


@contextmanager
def keep_time(
    publisher: Publisher,
    *,
    alarm: Alarm | None = None,
) -> Iterator[None]:
    """Send a publisher's text and heartbeats when they are due, while the block runs.

    A failure is raised by the publisher's next call, so that it ends the run as it would have there; a run
    that waits for something else looks at `Publisher.has_failed`.

    Args:
        alarm: waits; a `threading.Event` unless a test decides the time.
    """
    over, alarm = Event(), alarm or Event()
    publisher.on_text_waiting = alarm.set
    thread = Thread(target=_run, args=(publisher, over, alarm), name="timekeeper", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        alarm.set()
        thread.join()


def _run(publisher: Publisher, over: Event, alarm: Alarm) -> None:
    try:
        while True:
            alarm.clear()
            if over.is_set():
                return
            alarm.wait(publisher.tick())
    except BaseException as failure:  # noqa: BLE001  # it is the run's, which hears of it at its next call
        publisher.fail(failure)

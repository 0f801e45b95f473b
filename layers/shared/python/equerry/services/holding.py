"""Holding a batch of messages: hidden while somebody works on the batch, and not for long after."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Final

from equerry.kernel.errors import Unavailable
from equerry.ports.queue import QueuePort

logger = logging.getLogger(__name__)

HIDDEN_S: Final = 60
"""The messages of a worker that died come back this long after its last beat."""


class HeldBatch:
    """Messages that are hidden anew with every beat; `queues` by receipt."""

    def __init__(self, queues: Mapping[str, QueuePort]) -> None:
        self._queues = dict(queues)
        # A beat that overtook `put_back` would bring the message back early.
        self._lock = Lock()

    def beat(self) -> None:
        """Hide every message for another while; one that a queue refused is tried again at the next beat."""
        for receipt in tuple(self._queues):
            with self._lock:
                if queue := self._queues.get(receipt):
                    _hide(queue, receipt, HIDDEN_S)

    def put_back(self, receipt: str, *, after_s: int) -> None:
        """Let one message come back after `after_s`; it is held no more."""
        with self._lock:
            if queue := self._queues.pop(receipt, None):
                _hide(queue, receipt, after_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldingService:
    """Beats beside a batch in a thread of its own.

    Attributes:
        beat_every_s: several times in HIDDEN_S, so that one lost beat is no death.
    """

    beat_every_s: float = 15.0

    @contextmanager
    def hold(self, queues: Mapping[str, QueuePort]) -> Iterator[HeldBatch]:
        """Keep messages hidden while the block runs; `queues` by receipt."""
        held, over = HeldBatch(queues), Event()
        held.beat()
        thread = Thread(target=self._run, args=(held, over), name="holding", daemon=True)
        thread.start()
        try:
            yield held
        finally:
            over.set()
            thread.join()

    def _run(self, held: HeldBatch, over: Event) -> None:
        while not over.wait(self.beat_every_s):
            held.beat()


def _hide(queue: QueuePort, receipt: str, seconds: int) -> None:
    try:
        queue.hide_message(receipt, seconds=seconds)
    except Unavailable:
        logger.warning("beat_missed")

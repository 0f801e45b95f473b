"""The queue of accepted runs, in memory."""

import itertools
import threading
from dataclasses import dataclass

from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import ConversationId, RunId

from tests.fakes.clock import FixedClock

DEDUPLICATED_FOR_S = 300.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """A run as a worker receives it."""

    receipt: str
    run_id: RunId
    conversation_id: ConversationId


@dataclass(slots=True)
class _Waiting:
    run_id: RunId
    conversation_id: ConversationId
    sent_s: float
    visible_s: float = float("-inf")
    receipt: str = ""


class MemoryQueueAdapter:
    """QueuePort over a list: a conversation's runs in order, one at a time."""

    def __init__(self, clock: Clock | None = None, *, visibility_s: float = 330) -> None:
        self._clock = clock or FixedClock()
        self._visibility_s = visibility_s
        self._waiting: list[_Waiting] = []
        self._sent_s: dict[RunId, float] = {}
        self._receipts = itertools.count(1)
        self._lock = threading.Lock()

    def enqueue_run(self, run_id: RunId, conversation_id: ConversationId) -> None:
        with self._lock:
            now = self._clock.monotonic_s()
            if now - self._sent_s.get(run_id, float("-inf")) < DEDUPLICATED_FOR_S:
                return
            self._sent_s[run_id] = now
            self._waiting.append(_Waiting(run_id, conversation_id, now))

    def hide_message(self, receipt: str, *, seconds: int) -> None:
        if not 0 <= seconds <= 43_200:
            raise ValueError(f"seconds must be 0 to 43200, got {seconds}")
        with self._lock:
            now = self._clock.monotonic_s()
            for message in self._waiting:
                if message.receipt == receipt and message.visible_s > now:
                    message.visible_s = now + seconds

    def receive(self) -> Delivery | None:
        """Take the first run that nobody works on, as SQS hands it to a worker."""
        with self._lock:
            now = self._clock.monotonic_s()
            busy: set[ConversationId] = set()
            for message in self._waiting:
                if message.conversation_id in busy or message.visible_s > now:
                    busy.add(message.conversation_id)
                    continue
                message.visible_s = now + self._visibility_s
                message.receipt = f"receipt-{next(self._receipts)}"
                return Delivery(message.receipt, message.run_id, message.conversation_id)
            return None

    def delete(self, receipt: str) -> None:
        """Be done with a run; an unknown receipt is ignored."""
        with self._lock:
            self._waiting = [message for message in self._waiting if message.receipt != receipt]

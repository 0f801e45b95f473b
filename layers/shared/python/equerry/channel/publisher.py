"""Publishes a run's events: numbers them, persists each before it is sent, and merges text."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from equerry.channel.envelope import Envelope, describe_event
from equerry.channel.events import Event, Token
from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import ConversationId, RunId

TEXT_INTERVAL_S = 0.04
"""At most one text frame in this time: faster than an eye reads, and a twentieth of the frames."""
MAX_TEXT_CHARS = 8_000
"""Longest text of one frame; four bytes a character still fit a 32 KiB WebSocket frame."""


class Broadcaster(Protocol):
    """Where a published envelope goes: `persist` first, and only then `deliver`.

    `persist` raises when the envelope is not safely kept, and nothing is sent then. `deliver` never
    raises for a reader that is gone or slow: readers recover from the log.
    """

    def persist(self, envelope: Envelope) -> None: ...

    def deliver(self, envelope: Envelope) -> None: ...


@dataclass(slots=True, kw_only=True)
class Publisher:
    """The only writer of one run's envelopes; not for several threads.

    Attributes:
        last_seq: of the last envelope published; 0 for a run that has none.
    """

    run_id: RunId
    conversation_id: ConversationId
    broadcaster: Broadcaster
    clock: Clock
    last_seq: int = 0
    _text: list[str] = field(default_factory=list)
    _sent_s: float = field(default=float("-inf"))

    def publish(self, event: Event, *, before_delivery: Callable[[], None] = lambda: None) -> None:
        """Publish one event, after any text that waits.

        Args:
            before_delivery: runs between persisting and sending, for what must be true by the time a
                reader hears of the event.

        Raises:
            UndeclaredEvent: a bug of ours; nothing was published.
        """
        name, payload = describe_event(event)
        if isinstance(event, Token):
            self._text.append(event.delta)
            if self.clock.monotonic_s() - self._sent_s >= TEXT_INTERVAL_S:
                self.flush()
            return
        self.flush()
        self._send(name, payload, before_delivery)

    def flush(self) -> None:
        """Send the text that waits, if any."""
        text, self._text = "".join(self._text), []
        for start in range(0, len(text), MAX_TEXT_CHARS):
            name, payload = describe_event(Token(delta=text[start : start + MAX_TEXT_CHARS]))
            self._send(name, payload, lambda: None)
            self._sent_s = self.clock.monotonic_s()

    def _send(self, name: str, payload: dict[str, object], before_delivery: Callable[[], None]) -> None:
        envelope = Envelope(
            type=name,
            run_id=self.run_id,
            conversation_id=self.conversation_id,
            seq=self.last_seq + 1,
            at=self.clock.now(),
            payload=payload,
        )
        self.broadcaster.persist(envelope)
        self.last_seq = envelope.seq
        before_delivery()
        self.broadcaster.deliver(envelope)

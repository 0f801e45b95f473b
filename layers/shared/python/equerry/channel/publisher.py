"""Publishes a run's events: numbers them, persists each before it is sent, and merges text."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Protocol

from equerry.channel.envelope import Envelope, describe_event
from equerry.channel.events import Event, Restart, Token
from equerry.channel.pacing import TEXT_INTERVAL_S as TEXT_INTERVAL_S
from equerry.channel.report import DeliveryOutcome, DeliveryReport
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Conflict, Unavailable
from equerry.kernel.identifiers import ConversationId, RunId

HEARTBEAT_S = 15.0
"""A live run is never silent for longer."""
MAX_TEXT_CHARS = 8_000
"""Longest text of one frame; four bytes a character still fit a 32 KiB WebSocket frame."""


class Broadcaster(Protocol):
    """Where a published envelope goes: `persist` first, and only then `deliver`.

    `persist` returns the envelope as readers get it, and raises when that is not safely kept; nothing is
    sent then. `deliver` and `beat` never raise for a reader that is gone or slow, who recovers from the log.
    """

    def persist(self, envelope: Envelope) -> Envelope: ...

    def deliver(self, envelope: Envelope) -> DeliveryOutcome: ...

    def beat(self, run_id: RunId, conversation_id: ConversationId, *, last_seq: int) -> None: ...


@dataclass(slots=True, kw_only=True)
class Publisher:
    """The only writer of one run's envelopes; its methods may be called from several threads.

    A publisher has no thread of its own: whoever keeps time for it calls `tick` (see `keep_time`).

    Attributes:
        last_seq: of the last envelope published; 0 for a run that has none.
        on_text_waiting: called when text begins to wait for its interval; must not block.
        report: what became of the envelopes so far.
    """

    run_id: RunId
    conversation_id: ConversationId
    broadcaster: Broadcaster
    clock: Clock
    last_seq: int = 0
    text_interval_s: float = TEXT_INTERVAL_S
    on_text_waiting: Callable[[], None] = lambda: None
    report: DeliveryReport = field(default_factory=DeliveryReport)
    _lock: RLock = field(default_factory=RLock)
    _text: str = ""
    _text_sent_s: float = field(default=float("-inf"))
    _heard_s: float | None = None
    _over: bool = False
    _failure: BaseException | None = None

    @property
    def has_failed(self) -> bool:
        """Whether every later call will raise; known at once, also while another thread is sending."""
        return self._failure is not None

    def publish(self, event: Event, *, before_delivery: Callable[[], None] = lambda: None) -> None:
        """Publish one event, after any text that waits; `Restart` takes the place of that text.

        Args:
            before_delivery: runs between persisting and sending, for what must be true by the time a
                reader hears of the event.

        Raises:
            UndeclaredEvent: a bug of ours; nothing was published.
            ValueError: the same: the run's `done` has been published.
            Conflict: another writer has the run, as this call or an earlier one, or a tick, found out.
        """
        name, payload = describe_event(event)
        with self._lock:
            self._require_open()
            if isinstance(event, Token):
                self._add_text(event.delta)
                return
            if isinstance(event, Restart):
                self._text = ""
            self._flush()
            self._send(name, payload, before_delivery)

    def flush(self) -> None:
        """Send the text that waits, if any; raises what `publish` does."""
        with self._lock:
            self._require_open()
            self._flush()

    def tick(self) -> float:
        """Do what is due, text or a heartbeat; returns the seconds until something may be due again.

        A store that does not answer is asked again at the next tick, and nothing is lost by it.

        Raises:
            Conflict: another writer has the run.
        """
        with self._lock:
            if self._over or self._failure is not None:
                return HEARTBEAT_S
            if self._text and self._text_due_in_s() <= 0:
                self._try_flush()
            if self._silence_left_s() <= 0:
                self.broadcaster.beat(self.run_id, self.conversation_id, last_seq=self.last_seq)
                self._heard_s = self.clock.monotonic_s()
            return self._text_due_in_s() if self._text else self._silence_left_s()

    def fail(self, failure: BaseException) -> None:
        """Have every later call raise this: what keeps time has met it, and the run must hear of it."""
        with self._lock:
            self._failure = self._failure or failure

    def _require_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._over:
            raise ValueError(f"nothing may follow the done of run {self.run_id}")

    def _add_text(self, delta: str) -> None:
        begins = not self._text
        self._text += delta
        if self._text_due_in_s() <= 0:
            self._flush()
        elif begins:
            self.on_text_waiting()

    def _try_flush(self) -> None:
        try:
            self._flush()
        except Unavailable:
            self._text_sent_s = self.clock.monotonic_s()

    def _flush(self) -> None:
        """Send the text that waits; what could not be kept goes on waiting."""
        while self._text:
            name, payload = describe_event(Token(delta=self._text[:MAX_TEXT_CHARS]))
            self._send(name, payload, lambda: None)
            self._text = self._text[MAX_TEXT_CHARS:]
            self._text_sent_s = self.clock.monotonic_s()

    def _send(self, name: str, payload: dict[str, object], before_delivery: Callable[[], None]) -> None:
        envelope = Envelope(
            type=name,
            run_id=self.run_id,
            conversation_id=self.conversation_id,
            seq=self.last_seq + 1,
            at=self.clock.now(),
            payload=payload,
        )
        try:
            envelope = self.broadcaster.persist(envelope)
        except Conflict as fenced:
            self.fail(fenced)
            raise
        self.last_seq = envelope.seq
        self._over = envelope.is_terminal
        try:
            before_delivery()
        finally:
            # It is kept, so it has happened, whatever became of what was to come first.
            self.report = self.report.add(envelope.seq, self.broadcaster.deliver(envelope))
            self._heard_s = self.clock.monotonic_s()

    def _text_due_in_s(self) -> float:
        return self._text_sent_s + self.text_interval_s - self.clock.monotonic_s()

    def _silence_left_s(self) -> float:
        now_s = self.clock.monotonic_s()
        if self._heard_s is None:
            self._heard_s = now_s
        return self._heard_s + HEARTBEAT_S - now_s

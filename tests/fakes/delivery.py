"""The replay log, the sockets and the push, in memory."""

import threading
from dataclasses import dataclass, field
from datetime import datetime

from equerry.channel.envelope import Envelope
from equerry.channel.marker import Marker
from equerry.domain.principal import Principal
from equerry.kernel.identifiers import ConnectionId, ConversationId, RunId
from equerry.ports.delivery import MAX_FRAME_BYTES, ConnectionGone, EnvelopeExists, TicketRefused


class MemoryReplayLogAdapter:
    """ReplayLogPort over a dictionary a run; `forget` does what a day does to the real one."""

    def __init__(self) -> None:
        self._runs: dict[RunId, dict[int, Envelope]] = {}
        self._lock = threading.Lock()

    def append(self, envelope: Envelope) -> None:
        with self._lock:
            run = self._runs.setdefault(envelope.run_id, {})
            if envelope.seq in run:
                raise EnvelopeExists(f"run {envelope.run_id} has an envelope {envelope.seq}")
            run[envelope.seq] = envelope

    def read(self, marker: Marker, *, limit: int) -> tuple[Envelope, ...]:
        with self._lock:
            run = self._runs.get(marker.run_id, {})
            later = sorted(seq for seq in run if seq > marker.seq)[:limit]
            return tuple(run[seq] for index, seq in enumerate(later) if seq == later[0] + index)

    def find_last(self, run_id: RunId) -> Envelope | None:
        with self._lock:
            run = self._runs.get(run_id)
            return run[max(run)] if run else None

    def forget(self, run_id: RunId, *seqs: int) -> None:
        """Lose envelopes."""
        with self._lock:
            for seq in seqs:
                del self._runs[run_id][seq]


@dataclass(slots=True)
class _Connection:
    principal: Principal
    listens: dict[ConversationId, datetime] = field(default_factory=dict)


class MemoryConnectionAdapter:
    """ConnectionPort over dictionaries."""

    def __init__(self) -> None:
        self._tickets: dict[str, tuple[Principal, datetime]] = {}
        self._open: dict[ConnectionId, _Connection] = {}
        self._lock = threading.Lock()

    def issue_ticket(self, ticket: str, principal: Principal, *, expires_at: datetime) -> None:
        with self._lock:
            self._tickets[ticket] = (principal, expires_at)

    def redeem_ticket(self, ticket: str, *, now: datetime) -> Principal:
        with self._lock:
            principal, expires_at = self._tickets.get(ticket, (None, now))
            if principal is None or expires_at <= now:
                raise TicketRefused("the ticket is unknown, used up or past its time; get a new one")
            del self._tickets[ticket]
            return principal

    def connect(self, connection_id: ConnectionId, principal: Principal) -> None:
        with self._lock:
            self._open[connection_id] = _Connection(principal)

    def disconnect(self, connection_id: ConnectionId) -> None:
        with self._lock:
            self._open.pop(connection_id, None)

    def find_principal(self, connection_id: ConnectionId) -> Principal | None:
        with self._lock:
            connection = self._open.get(connection_id)
            return connection.principal if connection else None

    def subscribe(
        self, connection_id: ConnectionId, conversation_id: ConversationId, *, until: datetime
    ) -> None:
        with self._lock:
            if connection_id not in self._open:
                raise ConnectionGone(f"connection {connection_id} is not open")
            self._open[connection_id].listens[conversation_id] = until

    def unsubscribe(self, connection_id: ConnectionId, conversation_id: ConversationId) -> None:
        with self._lock:
            if connection_id in self._open:
                self._open[connection_id].listens.pop(conversation_id, None)

    def list_subscribers(self, conversation_id: ConversationId, *, now: datetime) -> tuple[ConnectionId, ...]:
        with self._lock:
            return tuple(
                connection_id
                for connection_id, connection in sorted(self._open.items())
                if connection.listens.get(conversation_id, now) > now
            )


class MemoryChannelAdapter:
    """ChannelPort that keeps what each socket received; a socket is there once it is opened."""

    def __init__(self) -> None:
        self._received: dict[ConnectionId, list[str]] = {}
        self._lock = threading.Lock()

    def send(self, connection_id: ConnectionId, frame: str) -> None:
        size = len(frame.encode())
        if size > MAX_FRAME_BYTES:
            raise ValueError(f"a frame may have {MAX_FRAME_BYTES} bytes, got {size}")
        with self._lock:
            if connection_id not in self._received:
                raise ConnectionGone(f"connection {connection_id} is not open")
            self._received[connection_id].append(frame)

    def open_socket(self, connection_id: ConnectionId) -> None:
        """Let a socket be there."""
        with self._lock:
            self._received.setdefault(connection_id, [])

    def close_socket(self, connection_id: ConnectionId) -> None:
        """Let it be gone, with what it received."""
        with self._lock:
            self._received.pop(connection_id, None)

    def list_frames(self, connection_id: ConnectionId) -> tuple[str, ...]:
        """Return what an open socket received, in order."""
        with self._lock:
            return tuple(self._received[connection_id])

"""The replay log, the open sockets and the push to them."""

from datetime import datetime
from typing import Protocol

from equerry.channel.envelope import Envelope
from equerry.channel.marker import Marker
from equerry.domain.principal import Principal
from equerry.kernel.errors import Conflict, NotFound
from equerry.kernel.identifiers import ConnectionId, ConversationId, RunId

MAX_FRAME_BYTES = 128 * 1024
"""The longest frame of a channel, in UTF-8."""


class EnvelopeExists(Conflict):
    """Another writer has used this seq: the caller is not the run's only writer any more."""

    code = "envelope_exists"


class ReplayLogPort(Protocol):
    """Every envelope, before it is sent."""

    def append(self, envelope: Envelope) -> None:
        """Write one envelope.

        Raises:
            EnvelopeExists: the run has one with this seq; nothing was written.
        """
        ...

    def read(self, marker: Marker, *, limit: int) -> tuple[Envelope, ...]:
        """Return up to `limit` envelopes after the marker, in order (strongly consistent).

        The log forgets after a day: the first one returned need not be the marker's successor.
        """
        ...

    def find_last(self, run_id: RunId) -> Envelope | None:
        """Return the run's newest envelope (strongly consistent)."""
        ...


class TicketRefused(NotFound):
    """No such ticket: never issued, used before, or past its time."""

    code = "ticket_refused"


class ConnectionPort(Protocol):
    """Who is connected, and to which conversations each socket listens."""

    def issue_ticket(self, ticket: str, principal: Principal, *, expires_at: datetime) -> None:
        """Keep a one-use ticket; only a digest of it is stored."""
        ...

    def redeem_ticket(self, ticket: str, *, now: datetime) -> Principal:
        """Use a ticket up.

        Raises:
            TicketRefused: see there; of two simultaneous calls one gets this.
        """
        ...

    def connect(self, connection_id: ConnectionId, principal: Principal) -> None: ...

    def disconnect(self, connection_id: ConnectionId) -> None:
        """Forget the connection and its subscriptions; not there is not an error."""
        ...

    def find_principal(self, connection_id: ConnectionId) -> Principal | None: ...

    def subscribe(
        self, connection_id: ConnectionId, conversation_id: ConversationId, *, until: datetime
    ) -> None:
        """Listen to a conversation until the reader's token ends; once written, every later list has it."""
        ...

    def unsubscribe(self, connection_id: ConnectionId, conversation_id: ConversationId) -> None: ...

    def list_subscribers(self, conversation_id: ConversationId, *, now: datetime) -> tuple[ConnectionId, ...]:
        """Return the sockets whose subscription is still valid (strongly consistent)."""
        ...


class ConnectionGone(NotFound):
    """The socket is closed or was never open."""

    code = "connection_gone"


class ChannelPort(Protocol):
    """The push to one socket."""

    def send(self, connection_id: ConnectionId, frame: str) -> None:
        """Send one text frame of at most 128 KiB.

        Raises:
            ConnectionGone: see there.
        """
        ...

"""Sockets: tickets, connections, and subscriptions that begin with what the reader missed."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from equerry.channel.control import Control, FrameRefused, Gap, Pong, Subscribed, encode_control
from equerry.domain.conversations import Run
from equerry.domain.principal import Principal, Scope
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, NotFound, Unauthenticated, describe_failure
from equerry.kernel.identifiers import ConnectionId, ConversationId, RunId
from equerry.kernel.kinds import result
from equerry.ports.delivery import ConnectionPort
from equerry.ports.leases import LeasePort
from equerry.ports.transcripts import RunPort, TranscriptPort
from equerry.services.delivery import DeliveryService, encode_frame
from equerry.services.replaying import Replay, ReplayService

logger = logging.getLogger(__name__)

TICKET_S = 30


class TokenExpired(Unauthenticated):
    """The token behind this socket has ended; fetch a new ticket and connect again."""

    code = "token_expired"


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A one-use way into the socket."""

    ticket: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketService:
    """Issues tickets, so that a bearer token never stands in an address."""

    connections: ConnectionPort
    clock: Clock
    new_secret: Callable[[], str]

    def issue(self, principal: Principal) -> Ticket:
        """Return a ticket that connects once within 30 seconds."""
        ticket = Ticket(ticket=self.new_secret(), expires_at=self.clock.now() + timedelta(seconds=TICKET_S))
        self.connections.issue_ticket(ticket.ticket, principal, expires_at=ticket.expires_at)
        return ticket


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionService:
    """Connects sockets and lets them listen."""

    connections: ConnectionPort
    transcripts: TranscriptPort
    runs: RunPort
    leases: LeasePort
    replays: ReplayService
    delivery: DeliveryService
    clock: Clock

    def connect(self, connection_id: ConnectionId, ticket: str) -> None:
        """Admit a socket; raises TicketRefused for a ticket that does not hold."""
        principal = self.connections.redeem_ticket(ticket, now=self.clock.now())
        self.connections.connect(connection_id, principal)

    def disconnect(self, connection_id: ConnectionId) -> None:
        """Forget a socket."""
        self.connections.disconnect(connection_id)

    def subscribe(
        self,
        connection_id: ConnectionId,
        conversation_id: ConversationId,
        *,
        run_id: RunId | None,
        after: int,
    ) -> None:
        """Listen to a conversation, and receive first what the log has of the run after `after`.

        Without a run, the one that is answering now, if any. The subscription is written before the log is
        read, so that an envelope is in the replay, or sent live, or both; never neither.

        Raises:
            TokenExpired: see there.
            NotFound: the conversation or run is not this reader's.
        """
        principal = self._fetch_principal(connection_id)
        self.transcripts.fetch_conversation(principal.scope, conversation_id)
        # Refused before anything is listened to.
        named = None if run_id is None else self._fetch_run(principal.scope, conversation_id, run_id)
        self.connections.subscribe(connection_id, conversation_id, until=principal.expires_at)
        run = named or self._find_active(principal.scope, conversation_id)
        if run is None:
            self._send(connection_id, Subscribed(last_seq=0, ended=True), conversation_id)
            return
        self._replay(connection_id, run, after)

    def unsubscribe(self, connection_id: ConnectionId, conversation_id: ConversationId) -> None:
        """Stop listening; not listening is not an error."""
        self.connections.unsubscribe(connection_id, conversation_id)

    def pong(self, connection_id: ConnectionId) -> None:
        """Answer a ping."""
        self._send(connection_id, Pong())

    def refuse(self, connection_id: ConnectionId, failure: EquerryError) -> None:
        """Tell a reader why its request failed; the socket stays open."""
        self._send(connection_id, FrameRefused(code=failure.code, message=describe_failure(failure)))

    def _fetch_principal(self, connection_id: ConnectionId) -> Principal:
        principal = self.connections.find_principal(connection_id)
        if principal is None or principal.expires_at <= self.clock.now():
            raise TokenExpired("the token behind this connection has ended; connect again with a new ticket")
        return principal

    def _find_active(self, scope: Scope, conversation_id: ConversationId) -> Run | None:
        lease = self.leases.find_lease(conversation_id)
        if lease is None:
            return None
        try:
            return self.runs.fetch_run(scope, lease.run_id)
        except NotFound:
            # Its entry point has not written it yet, or died before; nothing was said in it.
            return None

    def _fetch_run(self, scope: Scope, conversation_id: ConversationId, run_id: RunId) -> Run:
        run = self.runs.fetch_run(scope, run_id)
        if run.conversation_id != conversation_id:
            raise NotFound("there is no such run in this conversation")
        return run

    def _replay(self, connection_id: ConnectionId, run: Run, after: int) -> None:
        found = self.replays.replay(run, after=after)
        state = Subscribed(last_seq=found.last_seq, ended=found.ended)
        self._send(connection_id, state, run.conversation_id, run.run_id)
        while self._send_stretch(connection_id, run, found, after) and found.has_more:
            after = found.envelopes[-1].seq
            found = self.replays.replay(run, after=after)

    def _send_stretch(self, connection_id: ConnectionId, run: Run, found: Replay, after: int) -> bool:
        """Tell of a gap, then send in order; False as soon as the socket does not take one."""
        if found.gap_next is not None:
            gap = Gap(after=after, next=found.gap_next)
            self._send(connection_id, gap, run.conversation_id, run.run_id)
        return all(
            self.delivery.send_frame(connection_id, encode_frame(envelope.to_wire())) == "reached"
            for envelope in found.envelopes
        )

    def _send(
        self,
        connection_id: ConnectionId,
        control: Control,
        conversation_id: ConversationId | None = None,
        run_id: RunId | None = None,
    ) -> None:
        frame = encode_control(control, at=self.clock.now(), conversation_id=conversation_id, run_id=run_id)
        self.delivery.send_frame(connection_id, encode_frame(frame))

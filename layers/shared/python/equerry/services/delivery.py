"""Delivery of envelopes: into the log first, then to every socket that listens."""

import logging
from dataclasses import dataclass
from json import dumps

from equerry.channel.envelope import Envelope
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import ConnectionId
from equerry.ports.delivery import ChannelPort, ConnectionGone, ConnectionPort, ReplayLogPort

logger = logging.getLogger(__name__)


def encode_frame(wire: dict[str, object]) -> str:
    """Return a frame's text: compact JSON."""
    return dumps(wire, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryService:
    """The broadcaster behind every publisher."""

    log: ReplayLogPort
    connections: ConnectionPort
    channel: ChannelPort
    clock: Clock

    def persist(self, envelope: Envelope) -> None:
        """Write to the replay log.

        Raises:
            EnvelopeExists: another writer has the run.
        """
        self.log.append(envelope)

    def deliver(self, envelope: Envelope) -> None:
        """Send to every valid subscriber; a reader that misses it asks the log."""
        try:
            subscribers = self.connections.list_subscribers(envelope.conversation_id, now=self.clock.now())
        except Unavailable:
            logger.warning("delivery_skipped", extra={"run_id": envelope.run_id, "seq": envelope.seq})
            return
        frame = encode_frame(envelope.to_wire())
        for connection_id in subscribers:
            self.send_frame(connection_id, frame)

    def send_frame(self, connection_id: ConnectionId, frame: str) -> bool:
        """Send one frame to one socket; False if it did not arrive, and a closed socket is forgotten."""
        try:
            self.channel.send(connection_id, frame)
        except ConnectionGone:
            self._forget(connection_id)
            return False
        except Unavailable:
            logger.warning("frame_not_sent", extra={"connection_id": connection_id})
            return False
        return True

    def _forget(self, connection_id: ConnectionId) -> None:
        try:
            self.connections.disconnect(connection_id)
        except Unavailable:
            # Its subscriptions end with its token anyway.
            logger.warning("connection_not_forgotten", extra={"connection_id": connection_id})

"""Delivery of envelopes: into the log first, then to every socket that listens."""

import logging
from collections import Counter
from dataclasses import dataclass, replace
from json import dumps
from typing import Literal

from equerry.channel.control import Heartbeat, encode_control
from equerry.channel.envelope import Envelope, PayloadRef
from equerry.channel.publisher import Broadcaster
from equerry.channel.report import DeliveryOutcome
from equerry.domain.principal import Scope
from equerry.kernel.clock import Clock
from equerry.kernel.errors import TooLarge, Unavailable
from equerry.kernel.identifiers import ArtifactId, ConnectionId, ConversationId, RunId, derive_identifier
from equerry.ports.artifacts import MAX_ARTIFACT_BYTES, ArtifactKey, ArtifactStorePort
from equerry.ports.delivery import (
    MAX_FRAME_BYTES,
    ChannelPort,
    ConnectionGone,
    ConnectionPort,
    ReplayLogPort,
)
from equerry.ports.interactions import ArtifactPort, ArtifactSummary
from equerry.ports.transcripts import TranscriptPort
from equerry.services.readership import Behind, Readership, start_thread

logger = logging.getLogger(__name__)

Arrival = Literal["reached", "gone", "failed"]
"""What became of one frame on its way to one socket."""


def encode_frame(wire: dict[str, object]) -> str:
    """Return a frame's text: compact JSON."""
    return dumps(wire, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryService:
    """What stands behind every publisher.

    Attributes:
        behind: does what no publisher waits for.
    """

    log: ReplayLogPort
    transcripts: TranscriptPort
    artifacts: ArtifactStorePort
    artifact_records: ArtifactPort
    connections: ConnectionPort
    channel: ChannelPort
    clock: Clock
    behind: Behind = start_thread

    def build_broadcaster(self, scope: Scope, conversation_id: ConversationId) -> Broadcaster:
        """Return where the envelopes of a run in the scope's conversation go.

        Nothing is sent while the scope's person may not see the conversation; everything is kept.
        """
        readership = Readership(
            transcripts=self.transcripts,
            scope=scope,
            conversation_id=conversation_id,
            clock=self.clock,
            behind=self.behind,
            looked_s=self.clock.monotonic_s(),
        )
        return _ScopedBroadcaster(self, scope, readership)

    def persist(self, scope: Scope, envelope: Envelope) -> Envelope:
        """Write to the replay log; returns what was written.

        A payload that no frame could carry is stored beside the log first, and the envelope refers to it.

        Raises:
            EnvelopeExists: another writer has the run.
            TooLarge: the payload is larger than any artifact may be.
            NotFound: the conversation has gone, and the payload would have to lie beside the log.
        """
        if len(encode_frame(envelope.to_wire()).encode()) > MAX_FRAME_BYTES:
            envelope = self._set_aside(scope, envelope)
        self.log.append(envelope)
        return envelope

    def deliver(self, envelope: Envelope) -> DeliveryOutcome:
        """Send to every valid subscriber; a reader that misses it asks the log."""
        frame = encode_frame(envelope.to_wire())
        return self._send_all(envelope.run_id, envelope.conversation_id, frame)

    def beat(self, run_id: RunId, conversation_id: ConversationId, *, last_seq: int) -> None:
        """Tell every valid subscriber that the run lives; neither logged nor counted."""
        beat = encode_control(
            Heartbeat(last_seq=last_seq),
            at=self.clock.now(),
            conversation_id=conversation_id,
            run_id=run_id,
        )
        self._send_all(run_id, conversation_id, encode_frame(beat))

    def send_frame(self, connection_id: ConnectionId, frame: str) -> Arrival:
        """Send one frame to one socket; one that has closed is forgotten."""
        try:
            self.channel.send(connection_id, frame)
        except ConnectionGone:
            self._forget(connection_id)
            return "gone"
        except Unavailable:
            logger.warning("frame_not_sent", extra={"connection_id": connection_id})
            return "failed"
        return "reached"

    def _set_aside(self, scope: Scope, envelope: Envelope) -> Envelope:
        body = encode_frame(dict(envelope.payload))
        # By its content: of two workers on one run, neither changes what the other refers to.
        artifact_id = derive_identifier(ArtifactId, envelope.run_id, body)
        encoded = body.encode()
        if len(encoded) > MAX_ARTIFACT_BYTES:
            raise TooLarge(f"a payload may have {MAX_ARTIFACT_BYTES} bytes, got {len(encoded)}")
        summary = ArtifactSummary(
            artifact_id=artifact_id,
            run_id=envelope.run_id,
            kind="payload",
            title=envelope.type,
            size_bytes=len(encoded),
            created_at=envelope.at,
        )
        # The row first: a body that no row leads to is one that nobody finds when its conversation goes.
        self.artifact_records.record_artifact(scope, envelope.conversation_id, summary)
        key = ArtifactKey.of(scope, envelope.conversation_id, artifact_id)
        self.artifacts.store_artifact(key, encoded)
        reference = PayloadRef(artifact_id=artifact_id, size_bytes=len(encoded))
        return replace(envelope, payload={}, payload_ref=reference)

    def _send_all(self, run_id: RunId, conversation_id: ConversationId, frame: str) -> DeliveryOutcome:
        try:
            listeners = self.connections.list_subscribers(conversation_id, now=self.clock.now())
        except Unavailable:
            logger.warning("delivery_skipped", extra={"run_id": run_id})
            return DeliveryOutcome(failed=1)
        arrivals = Counter(self.send_frame(listener, frame) for listener in listeners)
        return DeliveryOutcome(reached=arrivals["reached"], gone=arrivals["gone"], failed=arrivals["failed"])

    def _forget(self, connection_id: ConnectionId) -> None:
        try:
            self.connections.disconnect(connection_id)
        except Unavailable:
            # Its subscriptions end with its token anyway.
            logger.warning("connection_not_forgotten", extra={"connection_id": connection_id})


@dataclass(frozen=True, slots=True)
class _ScopedBroadcaster:
    service: DeliveryService
    scope: Scope
    readership: Readership

    def persist(self, envelope: Envelope) -> Envelope:
        return self.service.persist(self.scope, envelope)

    def deliver(self, envelope: Envelope) -> DeliveryOutcome:
        return self.service.deliver(envelope) if self.readership.is_open() else DeliveryOutcome()

    def beat(self, run_id: RunId, conversation_id: ConversationId, *, last_seq: int) -> None:
        if self.readership.is_open():
            self.service.beat(run_id, conversation_id, last_seq=last_seq)

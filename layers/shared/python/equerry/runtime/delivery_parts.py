"""What tells people of a run: the log, the sockets, and the services that write to both."""

from dataclasses import dataclass
from typing import Protocol

from equerry.adapters.aws.artifacts import S3ArtifactStoreAdapter
from equerry.adapters.aws.channel import ApiGatewayChannelAdapter
from equerry.adapters.aws.connections import DynamoConnectionAdapter
from equerry.adapters.aws.replay_log import DynamoReplayLogAdapter
from equerry.adapters.postgres.interactions import PostgresArtifactAdapter
from equerry.adapters.postgres.records import PostgresRunRecordAdapter
from equerry.domain.pricing import LISTED, Prices
from equerry.domain.retrieval import MOST_CHARACTERS
from equerry.ports.admission import AdmissionPort
from equerry.ports.interrupts import InterruptPort
from equerry.runtime.minting import new_identifier
from equerry.runtime.turn_parts import TurnParts
from equerry.services.delivery import DeliveryService
from equerry.services.ending import EndingService
from equerry.services.recovery import RecoveryService
from equerry.services.replaying import ReplayService


class DeliverySettings(Protocol):
    """Where a function finds the log, the sockets, and what is too large for either."""

    @property
    def connections_table(self) -> str: ...
    @property
    def replay_table(self) -> str: ...
    @property
    def uploads_bucket(self) -> str: ...
    @property
    def websocket_endpoint(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryParts:
    """The adapters and small services that deliver and end runs, over the stores of `turns`.

    They need two clients of AWS more than taking a question does.
    """

    turns: TurnParts
    records: PostgresRunRecordAdapter
    log: DynamoReplayLogAdapter
    artifacts: S3ArtifactStoreAdapter
    connections: DynamoConnectionAdapter
    delivery: DeliveryService

    def build_recovery(self, interrupts: InterruptPort, admissions: AdmissionPort) -> RecoveryService:
        """Return the service that settles what dead workers left."""
        return RecoveryService(
            runs=self.turns.kept_runs,
            records=self.records,
            leases=self.turns.leases,
            admissions=admissions,
            interrupts=interrupts,
            log=self.log,
            delivery=self.delivery,
            metrics=self.turns.metrics,
            clock=self.turns.clock,
        )

    def build_endings(
        self,
        admissions: AdmissionPort,
        *,
        most_retrieved_characters: int = MOST_CHARACTERS,
        prices: Prices = LISTED,
    ) -> EndingService:
        """Return the service that ends answered runs."""
        return EndingService(
            most_retrieved_characters=most_retrieved_characters,
            prices=prices,
            runs=self.turns.kept_runs,
            records=self.records,
            admissions=admissions,
            log=self.log,
            delivery=self.delivery,
            metrics=self.turns.metrics,
            clock=self.turns.clock,
        )

    def build_replays(self) -> ReplayService:
        """Return the service that reads the log."""
        return ReplayService(log=self.log, clock=self.turns.clock)


def build_delivery_parts(settings: DeliverySettings, turns: TurnParts) -> DeliveryParts:
    """Wire the parts; nothing connects before its first use."""
    clients = turns.clients
    log = DynamoReplayLogAdapter(clients.dynamodb, settings.replay_table, new_identifier)
    connections = DynamoConnectionAdapter(clients.dynamodb, settings.connections_table)
    artifacts = S3ArtifactStoreAdapter(clients.s3, settings.uploads_bucket)
    return DeliveryParts(
        turns=turns,
        records=PostgresRunRecordAdapter(turns.database),
        log=log,
        artifacts=artifacts,
        connections=connections,
        delivery=DeliveryService(
            log=log,
            transcripts=turns.transcripts,
            artifacts=artifacts,
            artifact_records=PostgresArtifactAdapter(turns.database, keeps=True),
            connections=connections,
            channel=ApiGatewayChannelAdapter(clients.push(settings.websocket_endpoint)),
            clock=turns.clock,
        ),
    )

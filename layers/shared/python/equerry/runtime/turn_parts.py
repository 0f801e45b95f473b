"""What every function that touches a run is made of."""

import random
from dataclasses import dataclass
from typing import Protocol

from equerry.adapters.aws.admission import DynamoAdmissionAdapter
from equerry.adapters.aws.artifacts import S3ArtifactStoreAdapter
from equerry.adapters.aws.channel import ApiGatewayChannelAdapter
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.connections import DynamoConnectionAdapter
from equerry.adapters.aws.leases import DynamoLeaseAdapter
from equerry.adapters.aws.metrics import EmfMetricAdapter
from equerry.adapters.aws.replay_log import DynamoReplayLogAdapter
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.records import PostgresRunRecordAdapter
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.domain.retrieval import MOST_CHARACTERS
from equerry.kernel.clock import Clock
from equerry.ports.admission import AdmissionPort
from equerry.ports.interrupts import InterruptPort
from equerry.ports.metrics import MetricPort
from equerry.runtime.clock import SystemClock
from equerry.runtime.database import open_database
from equerry.runtime.directory import build_directory
from equerry.runtime.minting import new_identifier
from equerry.services.delivery import DeliveryService
from equerry.services.ending import EndingService
from equerry.services.recovery import RecoveryService
from equerry.services.replaying import ReplayService


class TurnStoreSettings(Protocol):
    """Where a function finds the stores that runs live in."""

    @property
    def equerry_stage(self) -> str: ...
    @property
    def database_secret_arn(self) -> str: ...
    @property
    def leases_table(self) -> str: ...
    @property
    def connections_table(self) -> str: ...
    @property
    def replay_table(self) -> str: ...
    @property
    def uploads_bucket(self) -> str: ...
    @property
    def websocket_endpoint(self) -> str: ...
    @property
    def directory_url(self) -> str | None: ...
    @property
    def directory_secret_arn(self) -> str | None: ...


class CountingSettings(Protocol):
    """Where a function finds what turns are counted by."""

    @property
    def leases_table(self) -> str: ...
    @property
    def usage_table(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """The adapters and small services around runs, over one set of clients.

    Attributes:
        runs: as those read them who ask.
        kept_runs: for who answers, ends or settles them.
    """

    clients: AwsClients
    clock: Clock
    database: PostgresConnections
    transcripts: PostgresTranscriptAdapter
    runs: PostgresRunAdapter
    kept_runs: PostgresRunAdapter
    records: PostgresRunRecordAdapter
    leases: DynamoLeaseAdapter
    log: DynamoReplayLogAdapter
    artifacts: S3ArtifactStoreAdapter
    connections: DynamoConnectionAdapter
    delivery: DeliveryService
    metrics: MetricPort

    def build_admissions(self, settings: CountingSettings) -> AdmissionPort:
        """Return what turns are counted and settled by."""
        return DynamoAdmissionAdapter(
            self.clients.dynamodb,
            leases=settings.leases_table,
            usage=settings.usage_table,
            clock=self.clock,
            jitter=random.random,
        )

    def build_recovery(self, interrupts: InterruptPort, admissions: AdmissionPort) -> RecoveryService:
        """Return the service that settles what dead workers left."""
        return RecoveryService(
            runs=self.kept_runs,
            leases=self.leases,
            admissions=admissions,
            interrupts=interrupts,
            log=self.log,
            delivery=self.delivery,
            metrics=self.metrics,
            clock=self.clock,
        )

    def build_endings(
        self, admissions: AdmissionPort, *, most_retrieved_characters: int = MOST_CHARACTERS
    ) -> EndingService:
        """Return the service that ends answered runs."""
        return EndingService(
            most_retrieved_characters=most_retrieved_characters,
            runs=self.kept_runs,
            records=self.records,
            admissions=admissions,
            log=self.log,
            delivery=self.delivery,
            metrics=self.metrics,
            clock=self.clock,
        )

    def build_replays(self) -> ReplayService:
        """Return the service that reads the log."""
        return ReplayService(log=self.log, clock=self.clock)


def build_turn_parts(settings: TurnStoreSettings) -> TurnParts:
    """Wire the parts; nothing connects before its first use."""
    clients, clock = AwsClients(), SystemClock()
    directory = build_directory(
        clients, clock, url=settings.directory_url, secret_arn=settings.directory_secret_arn
    )
    database = open_database(clients, settings.database_secret_arn, clock, directory=directory)
    log = DynamoReplayLogAdapter(clients.dynamodb, settings.replay_table, new_identifier)
    connections = DynamoConnectionAdapter(clients.dynamodb, settings.connections_table)
    artifacts = S3ArtifactStoreAdapter(clients.s3, settings.uploads_bucket)
    channel = ApiGatewayChannelAdapter(clients.push(settings.websocket_endpoint))
    transcripts = PostgresTranscriptAdapter(database)
    return TurnParts(
        clients=clients,
        clock=clock,
        database=database,
        transcripts=transcripts,
        runs=PostgresRunAdapter(database),
        kept_runs=PostgresRunAdapter(database, keeps=True),
        records=PostgresRunRecordAdapter(database),
        leases=DynamoLeaseAdapter(clients.dynamodb, settings.leases_table, new_identifier),
        log=log,
        artifacts=artifacts,
        connections=connections,
        delivery=DeliveryService(
            log=log,
            transcripts=transcripts,
            artifacts=artifacts,
            connections=connections,
            channel=channel,
            clock=clock,
        ),
        metrics=EmfMetricAdapter(settings.equerry_stage),
    )

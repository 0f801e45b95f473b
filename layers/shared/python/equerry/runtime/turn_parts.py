"""What every function that touches a run is made of."""

import random
from dataclasses import dataclass
from typing import Protocol

from equerry.adapters.aws.admission import DynamoAdmissionAdapter
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.leases import DynamoLeaseAdapter
from equerry.adapters.aws.metrics import EmfMetricAdapter
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.kernel.clock import Clock
from equerry.ports.admission import AdmissionPort
from equerry.ports.metrics import MetricPort
from equerry.runtime.clock import SystemClock
from equerry.runtime.database import open_database
from equerry.runtime.directory import build_directory
from equerry.runtime.minting import new_identifier


class TurnStoreSettings(Protocol):
    """Where a function finds the stores that runs live in."""

    @property
    def equerry_stage(self) -> str: ...
    @property
    def database_secret_arn(self) -> str: ...
    @property
    def leases_table(self) -> str: ...
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
    """The stores around runs, over one set of clients.

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
    leases: DynamoLeaseAdapter
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


def build_turn_parts(settings: TurnStoreSettings) -> TurnParts:
    """Wire the parts; nothing connects before its first use."""
    clients, clock = AwsClients(), SystemClock()
    directory = build_directory(
        clients, clock, url=settings.directory_url, secret_arn=settings.directory_secret_arn
    )
    database = open_database(clients, settings.database_secret_arn, clock, directory=directory)
    return TurnParts(
        clients=clients,
        clock=clock,
        database=database,
        transcripts=PostgresTranscriptAdapter(database),
        runs=PostgresRunAdapter(database),
        kept_runs=PostgresRunAdapter(database, keeps=True),
        leases=DynamoLeaseAdapter(clients.dynamodb, settings.leases_table, new_identifier),
        metrics=EmfMetricAdapter(settings.equerry_stage),
    )

"""Wires what ends the life of data: the scheduled run, and what operators ask for by hand."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from equerry.adapters.aws.bodies import S3RemainsAdapter
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.counters import DynamoCounterAdapter
from equerry.adapters.aws.exports import S3ExportAdapter
from equerry.adapters.aws.metrics import EmfMetricAdapter
from equerry.adapters.aws.remains import DynamoRemainsAdapter, TurnTables
from equerry.adapters.aws.service_tokens import LambdaServiceTokenAdapter
from equerry.adapters.identity_service.organisations import (
    HttpOrganisationStatusAdapter,
    HttpServiceTokenAdapter,
)
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.disposals import PostgresDisposalAdapter
from equerry.adapters.postgres.erasure import PostgresErasureAdapter
from equerry.adapters.postgres.offboarding import PostgresOffboardingAdapter
from equerry.adapters.postgres.retention import PostgresRetentionAdapter
from equerry.domain.retention import RetentionWindows, parse_erasure, parse_organisation
from equerry.ports.offboarding import OrganisationStatusPort
from equerry.runtime.clock import SystemClock
from equerry.runtime.database import WAKING_S, open_database, require_database
from equerry.runtime.settings import RetentionSettings
from equerry.services.disposals import DisposalService
from equerry.services.erasure import ErasureService
from equerry.services.offboarding import OffboardingService
from equerry.services.retention import RetentionService
from equerry.services.upkeep import UpkeepService

_SWEEP_S = 400.0
_ERASURE_S = 240.0
_PURGE_S = 240.0
"""With the sweep before them they fit into the function's time; what does not, the next run goes on with."""


@dataclass(frozen=True, slots=True)
class RetentionApp:
    """Erases, purges or sweeps as an event says; any other event runs all that is due."""

    upkeep: UpkeepService

    def __call__(self, event: dict[str, Any], _context: Any) -> Mapping[str, object]:
        """Handle one event; what it asks for is read whole before anything connects."""
        match event.get("kind"):
            case "erase-user":
                request = parse_erasure(event.get("userId"), event.get("requestId"))
                return asdict(self.upkeep.erasures.erase(request))
            case "organisation-disabled":
                organisation = parse_organisation(event.get("organisationId"))
                export = None if event.get("export") is None else event["export"] is True
                service = self.upkeep.offboarding
                return asdict(service.handle_organisation_disabled(organisation, export=export))
            case "sweep":
                return self._sweep(event)
        return self.upkeep.run()

    def _sweep(self, event: Mapping[str, Any]) -> Mapping[str, object]:
        named = event.get("organisationId")
        organisation = None if named is None else parse_organisation(named)
        if event.get("dryRun") is True:
            listed = self.upkeep.offboarding.organisations.list_organisations
            scope = listed() if organisation is None else (organisation,)
            return {"organisations": list(scope), "windows": asdict(self.upkeep.retention.windows)}
        return asdict(self.upkeep.retention.sweep(organisation))


def build_retention_app(environ: Mapping[str, str] = os.environ) -> RetentionApp:
    """Return the app of the retention function."""
    settings, clients, clock = RetentionSettings.from_env(environ), AwsClients(), SystemClock()
    directory = _build_directory(settings, clients)
    database = open_database(
        clients, settings.database_secret_arn, clock, silence_s=120.0, checkout_s=WAKING_S
    )
    require_database(database)
    return RetentionApp(_build_upkeep(settings, clients, database, directory))


def _build_upkeep(
    settings: RetentionSettings,
    clients: AwsClients,
    database: PostgresConnections,
    directory: OrganisationStatusPort,
) -> UpkeepService:
    clock, metrics = SystemClock(), EmfMetricAdapter(settings.equerry_stage)
    tables = DynamoRemainsAdapter(
        clients.dynamodb,
        TurnTables(
            leases=settings.leases_table,
            connections=settings.connections_table,
            replay=settings.replay_table,
            run_flags=settings.run_flags_table,
            usage=settings.usage_table,
        ),
    )
    disposals = DisposalService(
        disposals=PostgresDisposalAdapter(database),
        stores={"items": tables, "objects": S3RemainsAdapter(clients.s3, settings.uploads_bucket)},
        clock=clock,
    )
    return UpkeepService(
        retention=RetentionService(
            retention=PostgresRetentionAdapter(database),
            counters=DynamoCounterAdapter(clients.dynamodb, settings.usage_table),
            disposals=disposals,
            metrics=metrics,
            clock=clock,
            windows=_read_windows(settings),
            time_s=_SWEEP_S,
        ),
        erasures=ErasureService(
            erasures=PostgresErasureAdapter(database), disposals=disposals, clock=clock, time_s=_ERASURE_S
        ),
        offboarding=OffboardingService(
            directory=directory,
            organisations=PostgresOffboardingAdapter(database),
            disposals=disposals,
            metrics=metrics,
            clock=clock,
            exports=S3ExportAdapter(clients.s3, settings.uploads_bucket, clock),
            exports_always=settings.org_offboarding_export,
            after_days=settings.org_offboarding_purge_after_days,
            time_s=_PURGE_S,
        ),
    )


def _build_directory(settings: RetentionSettings, clients: AwsClients) -> OrganisationStatusPort:
    minting = settings.service_mint_arn
    if minting.startswith("arn:"):
        return HttpOrganisationStatusAdapter(
            settings.identity_service_url, LambdaServiceTokenAdapter(clients.functions, minting)
        )
    return HttpOrganisationStatusAdapter(settings.identity_service_url, HttpServiceTokenAdapter(minting))


def _read_windows(settings: RetentionSettings) -> RetentionWindows:
    return RetentionWindows(
        conversation_days=settings.assistant_conversation_retention_days,
        action_days=settings.assistant_action_retention_days,
        superseded_days=settings.superseded_version_retention_days,
        purge_after_days=settings.org_offboarding_purge_after_days,
    )

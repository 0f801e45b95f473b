"""Wires the HTTP entry points."""

import os
from collections.abc import Mapping
from pathlib import Path

from equerry.adapters.aws.entitlements import DynamoEntitlementAdapter
from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.adapters.aws.queue import SqsQueueAdapter
from equerry.adapters.aws.uploads import S3UploadAdapter
from equerry.adapters.filesystem.profiles import FolderProfileAdapter
from equerry.adapters.jwt.identity import JwksIdentityAdapter
from equerry.adapters.postgres.activity import PostgresActivityAdapter
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.interactions import PostgresArtifactAdapter, PostgresInteractionAdapter
from equerry.adapters.postgres.search import PostgresPassageAdapter
from equerry.adapters.postgres.tenancies import PostgresTenancyAdapter
from equerry.admin.activity import ActivityScreen
from equerry.domain.pipeline import PIPELINE_VERSION
from equerry.domain.tenancy import Tenancy
from equerry.ports.switches import SwitchPort
from equerry.runtime.database import require_database
from equerry.runtime.http_app import HttpApp
from equerry.runtime.intents import build_fast_path
from equerry.runtime.minting import new_identifier, new_secret
from equerry.runtime.parameters import build_limits, build_switch, list_parameters, open_parameters
from equerry.runtime.settings import HttpSettings
from equerry.runtime.tracing import find_traceparent
from equerry.runtime.turn_parts import TurnParts, build_turn_parts
from equerry.services.admission import AdmissionService
from equerry.services.artifacts import ArtifactService
from equerry.services.billing import BillingService
from equerry.services.conversations import ConversationService
from equerry.services.documents import DocumentService
from equerry.services.reading import RunReadingService
from equerry.services.records import RunRecordService
from equerry.services.recovery import RecoveryService
from equerry.services.stopping import StoppingService
from equerry.services.subscriptions import TicketService
from equerry.services.turns import TurnService
from equerry.surfaces.http.registry import Deployment, HttpServices, build_routes


def build_http_app(environ: Mapping[str, str] = os.environ) -> HttpApp:
    """Return the app of the HTTP function.

    Raises:
        MissingSetting: a variable the function cannot start without is missing or blank.
        ValueError: the address of the keys is not safe to believe.
    """
    settings = HttpSettings.from_env(environ)
    parts = build_turn_parts(settings)
    identity = JwksIdentityAdapter(
        jwks_url=settings.auth_jwks_url,
        issuer=settings.auth_issuer,
        audience=settings.auth_audience,
        clock=parts.clock,
    )
    require_database(parts.database)
    switch = build_switch(settings, open_parameters(), parts.metrics)
    open_parameters().preload(list_parameters(settings, switch))
    routes = build_routes(build_services(settings, parts, switch), describe_deployment(settings, environ))
    return HttpApp(routes, identity, _build_billing(settings, parts))


def describe_deployment(settings: HttpSettings, environ: Mapping[str, str]) -> Deployment:
    """Return what the API says of itself."""
    return Deployment(
        version=settings.equerry_version,
        commit=settings.equerry_commit,
        lambda_version=environ.get("AWS_LAMBDA_FUNCTION_VERSION", "local"),
        default_profile=settings.default_profile,
        websocket_url=settings.websocket_url,
    )


def build_services(settings: HttpSettings, parts: TurnParts, switch: SwitchPort) -> HttpServices:
    """Wire the use cases; nothing connects before its first use."""
    interrupts = DynamoInterruptAdapter(parts.clients.dynamodb, settings.run_flags_table, parts.clock)
    recovery = parts.build_recovery(interrupts, parts.build_admissions(settings))
    reading = RunReadingService(
        runs=parts.runs, log=parts.log, replays=parts.build_replays(), recovery=recovery, clock=parts.clock
    )
    stops = StoppingService(runs=parts.runs, leases=parts.leases, interrupts=interrupts, recovery=recovery)
    activity = ActivityScreen(activity=PostgresActivityAdapter(parts.database), clock=parts.clock)
    return HttpServices(
        conversations=_build_conversations(settings, parts, recovery, stops),
        turns=_build_turns(settings, parts, stops, switch),
        reading=reading,
        tickets=TicketService(connections=parts.connections, clock=parts.clock, new_secret=new_secret),
        artifacts=ArtifactService(transcripts=parts.transcripts, artifacts=parts.artifacts),
        documents=_build_documents(settings, parts),
        read_switches=switch.read,
        show_activity=activity.show,
        show_fatigue=activity.show_fatigue,
        records=RunRecordService(
            records=parts.records, activity=PostgresActivityAdapter(parts.database), clock=parts.clock
        ),
    )


def _build_billing(settings: HttpSettings, parts: TurnParts) -> BillingService:
    table = settings.billing_entitlements_table
    entitlements = DynamoEntitlementAdapter(parts.clients.dynamodb, table) if table else None
    return BillingService(entitlements=entitlements, clock=parts.clock)


def _build_turns(
    settings: HttpSettings, parts: TurnParts, stops: StoppingService, switch: SwitchPort
) -> TurnService:
    admissions = parts.build_admissions(settings)
    guard = AdmissionService(
        admissions=admissions,
        leases=parts.leases,
        runs=parts.runs,
        recovery=stops.recovery,
        interrupts=stops.interrupts,
        limits=build_limits(settings, open_parameters()),
        metrics=parts.metrics,
        clock=parts.clock,
    )
    return TurnService(
        transcripts=parts.transcripts,
        runs=parts.runs,
        leases=parts.leases,
        admissions=admissions,
        profiles=FolderProfileAdapter(Path(settings.profiles_path)),
        queue=SqsQueueAdapter(parts.clients.sqs, settings.turn_queue_url, find_traceparent),
        switch=switch,
        guard=guard,
        stops=stops,
        unlisted=Tenancy(enabled=settings.organisations_unlisted_enabled),
        clock=parts.clock,
        new_id=new_identifier,
        fast_path=build_fast_path(settings, parts, admissions),
    )


def _build_conversations(
    settings: HttpSettings, parts: TurnParts, recovery: RecoveryService, stops: StoppingService
) -> ConversationService:
    return ConversationService(
        transcripts=parts.transcripts,
        runs=parts.runs,
        interactions=PostgresInteractionAdapter(parts.database),
        artifacts=PostgresArtifactAdapter(parts.database),
        profiles=FolderProfileAdapter(Path(settings.profiles_path)),
        leases=parts.leases,
        recovery=recovery,
        stops=stops,
        tenancies=PostgresTenancyAdapter(parts.database),
        unlisted=Tenancy(enabled=settings.organisations_unlisted_enabled),
        limits=build_limits(settings, open_parameters()),
        default_profile=settings.default_profile,
        clock=parts.clock,
        new_id=new_identifier,
    )


def _build_documents(settings: HttpSettings, parts: TurnParts) -> DocumentService:
    return DocumentService(
        documents=PostgresDocumentAdapter(parts.database),
        passages=PostgresPassageAdapter(parts.database),
        uploads=S3UploadAdapter(parts.clients.s3, settings.uploads_bucket),
        pipeline_version=PIPELINE_VERSION,
    )

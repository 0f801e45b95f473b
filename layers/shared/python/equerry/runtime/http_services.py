"""Wires what the API offers beyond taking a question: loaded when the first such request comes."""

import os
from collections.abc import Mapping
from pathlib import Path

from equerry.adapters.aws.uploads import S3UploadAdapter
from equerry.adapters.filesystem.profiles import FolderProfileAdapter
from equerry.adapters.postgres.activity import PostgresActivityAdapter
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.interactions import PostgresArtifactAdapter, PostgresInteractionAdapter
from equerry.adapters.postgres.search import PostgresPassageAdapter
from equerry.adapters.postgres.tenancies import PostgresTenancyAdapter
from equerry.admin.activity import ActivityScreen
from equerry.domain.pipeline import PIPELINE_VERSION
from equerry.domain.tenancy import Tenancy
from equerry.runtime.delivery_parts import DeliveryParts
from equerry.runtime.minting import new_identifier, new_secret
from equerry.runtime.parameters import build_limits, open_parameters
from equerry.runtime.settings import HttpSettings
from equerry.runtime.turn_parts import TurnParts
from equerry.services.artifacts import ArtifactService
from equerry.services.conversations import ConversationService
from equerry.services.documents import DocumentService
from equerry.services.reading import RunReadingService
from equerry.services.records import RunRecordService
from equerry.services.recovery import RecoveryService
from equerry.services.subscriptions import TicketService
from equerry.services.turns import TurnService
from equerry.surfaces.http.registry import Deployment, HttpServices


def describe_deployment(settings: HttpSettings, environ: Mapping[str, str] = os.environ) -> Deployment:
    """Return what the API says of itself."""
    return Deployment(
        version=settings.equerry_version,
        commit=settings.equerry_commit,
        lambda_version=environ.get("AWS_LAMBDA_FUNCTION_VERSION", "local"),
        default_profile=settings.default_profile,
        websocket_url=settings.websocket_url,
    )


def build_services(
    settings: HttpSettings, deliveries: DeliveryParts, turns: TurnService, recovery: RecoveryService
) -> HttpServices:
    """Wire the use cases around `turns`; nothing connects before its first use."""
    parts = deliveries.turns
    reading = RunReadingService(
        runs=parts.runs,
        log=deliveries.log,
        replays=deliveries.build_replays(),
        recovery=recovery,
        clock=parts.clock,
    )
    actions = PostgresActivityAdapter(parts.database)
    activity = ActivityScreen(activity=actions, clock=parts.clock)
    return HttpServices(
        conversations=_build_conversations(settings, parts, turns, recovery),
        turns=turns,
        reading=reading,
        tickets=TicketService(connections=deliveries.connections, clock=parts.clock, new_secret=new_secret),
        artifacts=ArtifactService(transcripts=parts.transcripts, artifacts=deliveries.artifacts),
        documents=_build_documents(settings, parts),
        read_switches=turns.switch.read,
        show_activity=activity.show,
        show_fatigue=activity.show_fatigue,
        records=RunRecordService(records=deliveries.records, activity=actions, clock=parts.clock),
    )


def _build_conversations(
    settings: HttpSettings, parts: TurnParts, turns: TurnService, recovery: RecoveryService
) -> ConversationService:
    return ConversationService(
        transcripts=parts.transcripts,
        runs=parts.runs,
        interactions=PostgresInteractionAdapter(parts.database),
        artifacts=PostgresArtifactAdapter(parts.database),
        profiles=FolderProfileAdapter(Path(settings.profiles_path)),
        leases=parts.leases,
        recovery=recovery,
        stops=turns.stops,
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

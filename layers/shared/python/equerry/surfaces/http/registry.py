"""The one registry of routes: what is served, and what the contract says."""

from collections.abc import Callable
from dataclasses import dataclass

from equerry.domain.switches import Switches
from equerry.kernel.kinds import value
from equerry.services.artifacts import ArtifactService
from equerry.services.conversations import ConversationService
from equerry.services.documents import DocumentService
from equerry.services.reading import RunReadingService
from equerry.services.records import RunRecordService
from equerry.services.subscriptions import TicketService
from equerry.services.turns import TurnService
from equerry.surfaces.http.admin_routes import AdminRoutes, ShowActivity, ShowFatigue
from equerry.surfaces.http.artifact_routes import ArtifactRoutes
from equerry.surfaces.http.conversation_routes import ConversationRoutes
from equerry.surfaces.http.document_routes import DocumentRoutes
from equerry.surfaces.http.event_stream_routes import EventStreamRoutes
from equerry.surfaces.http.openapi import build_contract
from equerry.surfaces.http.record_routes import RecordRoutes
from equerry.surfaces.http.routing import Route
from equerry.surfaces.http.run_routes import RunRoutes
from equerry.surfaces.http.service_routes import ServiceRoutes
from equerry.surfaces.http.turn_routes import TurnRoutes


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServices:
    """The use cases that routes call."""

    conversations: ConversationService
    turns: TurnService
    reading: RunReadingService
    tickets: TicketService
    artifacts: ArtifactService
    documents: DocumentService
    show_activity: ShowActivity
    show_fatigue: ShowFatigue
    records: RunRecordService
    read_switches: Callable[[], Switches]


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What the API says of itself and of the socket beside it."""

    version: str
    commit: str
    lambda_version: str
    default_profile: str
    websocket_url: str


def build_routes(services: HttpServices, deployment: Deployment) -> tuple[Route, ...]:
    """Return every route of the API."""
    conversations = ConversationRoutes(conversations=services.conversations)
    runs = RunRoutes(
        reading=services.reading,
        turns=services.turns,
        tickets=services.tickets,
        websocket_url=deployment.websocket_url,
    )
    artifacts = ArtifactRoutes(artifacts=services.artifacts)
    streams = EventStreamRoutes(reading=services.reading)
    service = ServiceRoutes(
        version=deployment.version,
        commit=deployment.commit,
        lambda_version=deployment.lambda_version,
        default_profile=deployment.default_profile,
        is_enabled=services.turns.is_enabled,
        read_switches=services.read_switches,
        build_contract=lambda: build_contract(routes, version=deployment.version),
    )
    documents = DocumentRoutes(documents=services.documents)
    admin = AdminRoutes(show_activity=services.show_activity, show_fatigue=services.show_fatigue)
    records = RecordRoutes(records=services.records)
    routes = (
        *streams.build(),
        *conversations.build(),
        *TurnRoutes(turns=services.turns).build(),
        *runs.build(),
        *records.build(),
        *artifacts.build(),
        *documents.build(),
        *admin.build(),
        *service.build(),
    )
    return routes

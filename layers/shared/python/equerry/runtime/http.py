"""Wires the HTTP entry points: what takes a question at once, the rest when it is first asked for."""

import os
from collections.abc import Mapping
from pathlib import Path

from equerry.adapters.aws.entitlements import DynamoEntitlementAdapter
from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.adapters.aws.queue import SqsQueueAdapter
from equerry.adapters.filesystem.profiles import FolderProfileAdapter
from equerry.adapters.jwt.identity import JwksIdentityAdapter
from equerry.domain.tenancy import Tenancy
from equerry.ports.switches import SwitchPort
from equerry.runtime.database import require_database
from equerry.runtime.http_app import HttpApp
from equerry.runtime.intents import build_fast_path
from equerry.runtime.late import LateParts
from equerry.runtime.minting import new_identifier
from equerry.runtime.parameters import build_limits, build_switch, list_parameters, open_parameters
from equerry.runtime.settings import HttpSettings
from equerry.runtime.tracing import find_traceparent
from equerry.runtime.turn_parts import TurnParts, build_turn_parts
from equerry.services.admission import AdmissionService
from equerry.services.billing import BillingService
from equerry.services.stopping import StoppingService
from equerry.services.turns import TurnService
from equerry.surfaces.http.turn_routes import TurnRoutes


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
    interrupts = DynamoInterruptAdapter(parts.clients.dynamodb, settings.run_flags_table, parts.clock)
    late = LateParts(settings, parts, interrupts)
    turns = build_turns(settings, parts, switch, late)
    routes = TurnRoutes(turns=turns).build()
    billing = _build_billing(settings, parts)
    return HttpApp(routes, identity, billing, list_routes=lambda: late.list_routes(turns))


def _build_billing(settings: HttpSettings, parts: TurnParts) -> BillingService:
    table = settings.billing_entitlements_table
    entitlements = DynamoEntitlementAdapter(parts.clients.dynamodb, table) if table else None
    return BillingService(entitlements=entitlements, clock=parts.clock)


def build_turns(settings: HttpSettings, parts: TurnParts, switch: SwitchPort, late: LateParts) -> TurnService:
    """Wire the acceptance of questions; nothing connects before its first use."""
    stops = StoppingService(runs=parts.runs, leases=parts.leases, interrupts=late.interrupts, recovery=late)
    guard = AdmissionService(
        admissions=parts.build_admissions(settings),
        leases=parts.leases,
        runs=parts.runs,
        recovery=late,
        interrupts=late.interrupts,
        limits=build_limits(settings, open_parameters()),
        metrics=parts.metrics,
        clock=parts.clock,
    )
    return TurnService(
        transcripts=parts.transcripts,
        profiles=FolderProfileAdapter(Path(settings.profiles_path)),
        queue=SqsQueueAdapter(parts.clients.sqs, settings.turn_queue_url, find_traceparent),
        switch=switch,
        guard=guard,
        stops=stops,
        unlisted=Tenancy(enabled=settings.organisations_unlisted_enabled),
        clock=parts.clock,
        new_id=new_identifier,
        fast_path=build_fast_path(settings, parts, late),
    )

"""Wires the reaper, which ends every minute what dead workers left."""

import os
from collections.abc import Mapping
from typing import Any

from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.runtime.database import require_database
from equerry.runtime.delivery_parts import build_delivery_parts
from equerry.runtime.observability import logger
from equerry.runtime.settings import ReaperSettings
from equerry.runtime.turn_parts import build_turn_parts
from equerry.services.recovery import RecoveryService


class ReaperApp:
    """Settles lapsed leases."""

    def __init__(self, service: RecoveryService) -> None:
        self._service = service

    def __call__(self, _event: dict[str, Any], _context: Any) -> dict[str, int]:
        """Handle one scheduled event."""
        settled = self._service.settle_lapsed()
        logger.info("leases_settled", extra={"settled": settled})
        return {"settled": settled}


def build_reaper_app(environ: Mapping[str, str] = os.environ) -> ReaperApp:
    """Return the app of the reaper function."""
    settings = ReaperSettings.from_env(environ)
    parts = build_turn_parts(settings)
    deliveries = build_delivery_parts(settings, parts)
    require_database(parts.database)
    interrupts = DynamoInterruptAdapter(parts.clients.dynamodb, settings.run_flags_table, parts.clock)
    return ReaperApp(deliveries.build_recovery(interrupts, parts.build_admissions(settings)))

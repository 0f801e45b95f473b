"""Wires the scheduled sweep."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.metrics import EmfMetricAdapter
from equerry.adapters.postgres.retention import PostgresRetentionAdapter
from equerry.runtime.clock import SystemClock
from equerry.runtime.database import WAKING_S, open_database, require_database
from equerry.runtime.settings import RetentionSettings
from equerry.services.retention import RetentionService

_SWEEP_S = 600.0


class RetentionApp:
    """Sweeps once an invocation."""

    def __init__(self, service: RetentionService) -> None:
        self._service = service

    def __call__(self, _event: dict[str, Any], _context: Any) -> dict[str, Any]:
        """Handle one scheduled event."""
        return asdict(self._service.sweep())


def build_retention_app(environ: Mapping[str, str] = os.environ) -> RetentionApp:
    """Return the app of the retention function."""
    settings, clock = RetentionSettings.from_env(environ), SystemClock()
    database = open_database(
        AwsClients(), settings.database_secret_arn, clock, silence_s=120.0, checkout_s=WAKING_S
    )
    require_database(database)
    service = RetentionService(
        retention=PostgresRetentionAdapter(database),
        metrics=EmfMetricAdapter(settings.equerry_stage),
        clock=clock,
        conversation_days=settings.conversation_retention_days,
        superseded_days=settings.superseded_version_retention_days,
        time_s=_SWEEP_S,
    )
    return RetentionApp(service)

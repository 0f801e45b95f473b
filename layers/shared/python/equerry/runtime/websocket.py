"""Wires the WebSocket entry points."""

import os
from collections.abc import Mapping
from typing import Any

from equerry.kernel.errors import EquerryError, Unavailable
from equerry.kernel.identifiers import ConnectionId
from equerry.runtime.database import require_database
from equerry.runtime.delivery_parts import build_delivery_parts
from equerry.runtime.observability import hold_secrets, logger
from equerry.runtime.settings import WebSocketSettings
from equerry.runtime.turn_parts import build_turn_parts
from equerry.services.subscriptions import SubscriptionService
from equerry.surfaces.json_input import read_text
from equerry.surfaces.websocket.dispatch import receive_frame


class WebSocketApp:
    """Connects, listens and disconnects."""

    def __init__(self, service: SubscriptionService) -> None:
        self._service = service

    def __call__(self, event: dict[str, Any], _context: Any) -> dict[str, Any]:
        """Handle one event of a WebSocket API; the status of $connect decides whether the socket opens."""
        context = event["requestContext"]
        hold_secrets((event.get("queryStringParameters") or {}).get("ticket", ""))
        connection_id = ConnectionId(context["connectionId"])
        logger.append_keys(connection_id=connection_id)
        match context["routeKey"]:
            case "$connect":
                return {"statusCode": self._connect(connection_id, event)}
            case "$disconnect":
                self._service.disconnect(connection_id)
            case _:
                receive_frame(self._service, connection_id, event.get("body") or "")
        return {"statusCode": 200}

    def _connect(self, connection_id: ConnectionId, event: dict[str, Any]) -> int:
        ticket = (event.get("queryStringParameters") or {}).get("ticket", "")
        try:
            self._service.connect(connection_id, read_text(ticket, name="ticket"))
        except Unavailable:
            logger.warning("connect_unavailable")
            return 503
        except EquerryError as refusal:
            logger.info("connect_refused", extra={"code": refusal.code})
            return 401
        return 200


def build_websocket_app(environ: Mapping[str, str] = os.environ) -> WebSocketApp:
    """Return the app of the WebSocket function."""
    settings = WebSocketSettings.from_env(environ)
    parts = build_turn_parts(settings)
    deliveries = build_delivery_parts(settings, parts)
    require_database(parts.database)
    service = SubscriptionService(
        connections=deliveries.connections,
        transcripts=parts.transcripts,
        runs=parts.runs,
        leases=parts.leases,
        replays=deliveries.build_replays(),
        delivery=deliveries.delivery,
        clock=parts.clock,
    )
    return WebSocketApp(service)

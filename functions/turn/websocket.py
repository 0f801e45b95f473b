"""The WebSocket API: $connect, $disconnect and every frame."""

from equerry.runtime.websocket import build_websocket_app

handle = build_websocket_app()

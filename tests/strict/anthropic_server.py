"""The Messages API, strictly."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.strict.anthropic_rules import check_body, check_headers
from tests.strict.replies import Choose, Denied, Event, require
from tests.strict.server import StrictServer, serve

KEY = "sk-ant-test-key"


class StrictAnthropicServer(StrictServer):
    """Knows the signatures it has sent, and whether it paused."""

    def __init__(self, choose: Choose | None = None) -> None:
        super().__init__(choose)
        self.signatures: set[str] = set()
        self.paused = False

    def admit(self, path: str, headers: Mapping[str, str]) -> None:
        if path != "/v1/messages":
            raise Denied(404, "not_found_error", f"no such path {path}")
        if headers.get("authorization") != f"Bearer {KEY}":
            raise Denied(401, "authentication_error", "invalid bearer token")

    def check(self, path: str, headers: Mapping[str, str], body: Any) -> None:
        check_headers(headers)
        check_body(body, signatures=frozenset(self.signatures), paused=self.paused)
        require(body.get("stream") is True, "stream: this server only streams")

    def ping(self) -> bytes:
        return b"event: ping\ndata: " + json.dumps({"type": "ping"}).encode() + b"\n\n"

    def note(self, event: Event) -> None:
        delta = event.data.get("delta", {})
        if delta.get("type") == "signature_delta":
            self.signatures.add(delta["signature"])
        if event.name == "message_delta":
            self.paused = delta.get("stop_reason") == "pause_turn"


@contextmanager
def serve_anthropic(choose: Choose | None = None) -> Iterator[StrictAnthropicServer]:
    """Serve on a free loopback port until the block ends."""
    with serve(StrictAnthropicServer(choose)) as server:
        yield server

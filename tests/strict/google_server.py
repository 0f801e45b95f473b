"""streamGenerateContent of the Gemini API, v1beta, strictly."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.strict.google_rules import Sent, check_body
from tests.strict.replies import Choose, Denied, Event, Failure, Json
from tests.strict.server import StrictServer, serve

KEY = "AIza-test-key"
MODEL = "gemini-test-3"
_PATH = re.compile(r"/v1beta/models/([a-z0-9.-]+):streamGenerateContent\?alt=sse")
_CODES = {"API_KEY_INVALID": "INVALID_ARGUMENT"}
_STATUS = {"INTERNAL": 500, "RESOURCE_EXHAUSTED": 429, "UNAVAILABLE": 503}


class StrictGoogleServer(StrictServer):
    """Knows the parts and the signatures it has sent."""

    request_id_header = "x-request-id"
    illegal = "INVALID_ARGUMENT"
    spare = Failure(500, "INTERNAL")

    def __init__(self, choose: Choose | None = None) -> None:
        super().__init__(choose)
        self.sent = Sent()

    def admit(self, path: str, headers: Mapping[str, str]) -> None:
        if not _PATH.fullmatch(path):
            raise Denied(404, "NOT_FOUND", f"no such path {path}")
        if headers.get("x-goog-api-key") != KEY:
            raise Denied(400, "API_KEY_INVALID", "API key not valid. Please pass a valid API key.")

    def check(self, path: str, headers: Mapping[str, str], body: Any) -> None:
        found = _PATH.fullmatch(path)
        check_body(body, model=found[1] if found else "", sent=self.sent)

    def encode(self, event: Event) -> bytes:
        return f"data: {json.dumps(event.data)}\r\n\r\n".encode()

    def ping(self) -> bytes:
        # There are none on this wire: a response without candidates is the nearest.
        return b'data: {"usageMetadata": {"promptTokenCount": 331}}\r\n\r\n'

    def describe(self, kind: str, message: str) -> Json:
        error: Json = {"message": message, "status": _CODES.get(kind, kind), "details": []}
        if kind in _CODES:
            info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": kind}
            error["details"].append(info)
        if ":" in kind:
            status, _, delay = kind.partition(":")
            retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
            error |= {"status": status, "details": [retry]}
        return {"error": {"code": _STATUS.get(error["status"], 400), **error}}

    def note(self, event: Event) -> None:
        for candidate in event.data.get("candidates", []):
            for part in candidate.get("content", {}).get("parts", []):
                if not part.get("thought"):
                    self.sent.note(part)


@contextmanager
def serve_google(choose: Choose | None = None) -> Iterator[StrictGoogleServer]:
    """Serve on a free loopback port until the block ends."""
    with serve(StrictGoogleServer(choose)) as server:
        yield server

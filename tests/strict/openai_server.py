"""The Responses API, strictly."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.strict.openai_rules import check_body
from tests.strict.replies import Choose, Denied, Event, Failure, Json, require
from tests.strict.server import StrictServer, serve

KEY = "sk-openai-test-key"


class StrictOpenAiServer(StrictServer):
    """Knows the reasoning it has sent; stores nothing."""

    request_id_header = "x-request-id"
    spare = Failure(500, "server_error")

    def __init__(self, choose: Choose | None = None) -> None:
        super().__init__(choose)
        self.encrypted: set[str] = set()
        self.reasoning_models = True

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def admit(self, path: str, headers: Mapping[str, str]) -> None:
        if path != "/v1/responses":
            raise Denied(404, "not_found", f"Invalid URL (POST {path})")
        if headers.get("authorization") != f"Bearer {KEY}":
            raise Denied(401, "invalid_api_key", "Incorrect API key provided")

    def check(self, path: str, headers: Mapping[str, str], body: Any) -> None:
        check_body(body, reasoning_models=self.reasoning_models, encrypted=frozenset(self.encrypted))
        require(body.get("stream") is True, "stream: this server only streams")
        require(body.get("store") is False, "store: this server stores nothing")

    def ping(self) -> bytes:
        data = {"type": "response.in_progress", "sequence_number": 1, "response": {"id": "resp_1"}}
        return f"event: response.in_progress\ndata: {json.dumps(data)}\n\n".encode()

    def describe(self, kind: str, message: str) -> Json:
        return {"error": {"message": message, "type": kind, "param": None, "code": kind}}

    def note(self, event: Event) -> None:
        item = event.data.get("item", {})
        if event.name == "response.output_item.done" and item.get("encrypted_content"):
            self.encrypted.add(item["encrypted_content"])


@contextmanager
def serve_openai(choose: Choose | None = None) -> Iterator[StrictOpenAiServer]:
    """Serve on a free loopback port until the block ends."""
    with serve(StrictOpenAiServer(choose)) as server:
        yield server

"""ConverseStream, strictly, with its frames."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from tests.strict import event_stream
from tests.strict.bedrock_events import EXCEPTION
from tests.strict.bedrock_rules import check_body
from tests.strict.replies import Choose, Denied, Event, Failure, Json
from tests.strict.server import StrictServer, serve

MODEL = "eu.anthropic.claude-test-1-v1:0"
ACCESS_KEY = "AKIATESTTESTTESTTEST"


class StrictBedrockServer(StrictServer):
    """Knows the signatures it has sent; a request must be signed by the right key."""

    content_type = "application/vnd.amazon.eventstream"
    request_id_header = "x-amzn-requestid"
    illegal = "ValidationException"
    spare = Failure(500, "InternalServerException")

    def __init__(self, choose: Choose | None = None) -> None:
        super().__init__(choose)
        self.signatures: set[str] = set()

    def admit(self, path: str, headers: Mapping[str, str]) -> None:
        signed = headers.get("authorization", "")
        if not signed.startswith(f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/") or "/bedrock/" not in signed:
            raise Denied(403, "UnrecognizedClientException", "The security token is invalid.")
        parts = unquote(path).split("/")
        if parts[-1] != "converse-stream" or parts[1] != "model":
            raise Denied(404, "UnknownOperationException", f"no such path {path}")

    def check(self, path: str, headers: Mapping[str, str], body: Any) -> None:
        model = unquote(path).removeprefix("/model/").removesuffix("/converse-stream")
        check_body(body, model=model, signatures=frozenset(self.signatures))

    def encode(self, event: Event) -> bytes:
        if event.name.startswith(EXCEPTION):
            return event_stream.exception(event.name.removeprefix(EXCEPTION), event.data)
        return event_stream.event(event.name, event.data)

    def ping(self) -> bytes:
        # There are none on this wire: an event that nobody knows is the nearest.
        return event_stream.event("keepAlive", {})

    def describe(self, kind: str, message: str) -> Json:
        return {"message": message}

    def head(self, failure: Failure) -> dict[str, str]:
        return {"x-amzn-errortype": failure.kind}

    def note(self, event: Event) -> None:
        thought = event.data.get("delta", {}).get("reasoningContent", {})
        if known := thought.get("signature") or thought.get("redactedContent"):
            self.signatures.add(known)


@contextmanager
def serve_bedrock(choose: Choose | None = None) -> Iterator[StrictBedrockServer]:
    """Serve on a free loopback port until the block ends."""
    with serve(StrictBedrockServer(choose)) as server:
        yield server

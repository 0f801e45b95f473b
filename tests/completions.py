"""Structured completions as tests ask for them: a payload that is legal, and rounds that answer it."""

import io
import logging
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import ScriptedRound, replay
from equerry.engine.messages import ToolCallBlock
from equerry.engine.model import ModelChoice, ReasoningLevel, RoundEnd, RoundStop, ToolCallReady
from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.usage import Usage
from equerry.runtime.completion_parts import CompletionParts
from equerry.runtime.observability import logger
from equerry.services.completion import ChosenModel, CompletionService

from tests.contract.models.clock import ScriptedClock
from tests.fakes.switches import MemorySwitchAdapter

HOST = "documents.s3.eu-central-1.amazonaws.com"
URL = f"https://{HOST}/a/plan.pdf?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=900&X-Amz-Signature=5ec7e7"
REQUEST_ID = "6f1c2c1a-3b1e-4c43-9d0f-0f3f6f1f2a11"
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
JPEG = b"\xff\xd8\xff\xe0" + b"pixels"
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8 "
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
ANSWER = {"city": "Bremen", "degrees": 12}
USAGE = Usage(input_tokens=40, output_tokens=9, cached_input_tokens=30)


@contextmanager
def capture_log() -> Iterator[io.StringIO]:
    """Give what goes to the log, as it is written."""
    stream = io.StringIO()
    handler = logger.registered_handler
    assert isinstance(handler, logging.StreamHandler)
    before = handler.setStream(stream)
    try:
        yield stream
    finally:
        handler.setStream(before)


class Context:
    """Lambda's, as far as it is used."""

    aws_request_id = "b4c5"

    def __init__(self, left_ms: int = 60_000) -> None:
        self._left_ms = left_ms

    def get_remaining_time_in_millis(self) -> int:
        return self._left_ms


def payload(**changes: Any) -> dict[str, Any]:
    """A legal request; a field that is changed to `...` is left out."""
    whole = {
        "protocolVersion": 1,
        "requestId": REQUEST_ID,
        "workload": "weather:daily",
        "organisationId": None,
        "system": "You know the weather.",
        "prompt": "How warm is it in Bremen?",
        "jsonSchema": SCHEMA,
        "schemaName": "Weather",
        **changes,
    }
    return {name: entry for name, entry in whole.items() if entry is not ...}


def image(content: bytes = PNG, media_type: str = "image/png", **changes: Any) -> dict[str, Any]:
    data = b64encode(content).decode("ascii")
    return {"type": "image", "mediaType": media_type, "data": data, **changes}


def document(url: str = URL, **changes: Any) -> dict[str, Any]:
    return {"url": url, "mediaType": "application/pdf", **changes}


def emit(answer: Any = ANSWER, *, usage: Usage = USAGE, stop: RoundStop = "tool_use") -> ScriptedRound:
    """A round that answers as it was forced to."""
    asked = ToolCallBlock(call_id=ToolCallId("call-1"), tool="emit", arguments=answer)
    return ScriptedRound((ToolCallReady(asked), RoundEnd(stop=stop, usage=usage)))


def emit_twice() -> ScriptedRound:
    calls = [ToolCallBlock(call_id=ToolCallId(f"call-{n}"), tool="emit", arguments=ANSWER) for n in (1, 2)]
    return ScriptedRound((*map(ToolCallReady, calls), RoundEnd(stop="tool_use", usage=USAGE)))


class Bench:
    """The parts of an app around a model that plays `rounds`."""

    def __init__(
        self,
        *rounds: ScriptedRound,
        provider: str = "fixture",
        reasoning: ReasoningLevel | None = None,
        clock: Clock | None = None,
        longest_s: float = 280.0,
        hosts: Iterable[str] = (HOST,),
    ) -> None:
        self.clock = clock or ScriptedClock()
        self.switch = MemorySwitchAdapter()
        choice = ModelChoice(provider=provider, model=f"{provider}-1")
        self.model = FixtureModelAdapter(self.clock, script=replay(rounds or (emit(),)), choice=choice)
        service = CompletionService(
            choose=lambda _: ChosenModel(choice=choice, model=self.model, reasoning=reasoning),
            switch=self.switch,
            clock=self.clock,
            max_output_tokens=8000,
            longest_s=longest_s,
        )
        self.parts = CompletionParts(service=service, hosts=frozenset(hosts))

"""Reads one round's stream of events; knows the wire, not the network."""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator

from equerry.adapters.bedrock.request import PROVIDER, Json
from equerry.adapters.rounds.failures import broke_off
from equerry.adapters.rounds.reading import HeldCalls, TokenCounts, end_round, find, find_arguments, pick
from equerry.engine.messages import OpaqueBlock
from equerry.engine.model import (
    ArgumentsDelta,
    ModelEvent,
    RoundStop,
    StillWorking,
    TextDelta,
    ThinkingDelta,
)
from equerry.kernel.usage import Usage

_STOPS: dict[str, RoundStop] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "guardrail_intervened": "filtered",
    "content_filtered": "filtered",
}


class ConverseReader:
    """Turns a stream's events into ours; where no calls are allowed, those that come are left out."""

    def __init__(self, *, calls_allowed: bool, forced: bool = False) -> None:
        self._forced = forced
        self._calls_allowed = calls_allowed
        self._calls = HeldCalls()
        self._blocks: dict[int, Json] = {}
        self._said = False
        self._reason: str | None = None
        self._readers = {
            "contentBlockStart": self._start_block,
            "contentBlockDelta": self._grow_block,
            "contentBlockStop": self._end_block,
            "messageStop": self._end_message,
        }

    def read(self, events: Iterable[Json]) -> Iterator[ModelEvent]:
        """Yield ours until the metadata, which come last; unknown events are skipped.

        Raises:
            AttemptFailed: an event cannot be read, or the end is missing.
        """
        for event in events:
            for name, data in event.items():
                if name == "metadata" and self._reason is not None:
                    stop = self._find_stop()
                    yield from self._calls.release(stop)
                    yield end_round(self._calls.settle(stop), read_usage(data.get("usage")))
                    return
                if reader := self._readers.get(name):
                    yield from reader(data)
        raise broke_off("ended before the message did")

    def _find_stop(self) -> RoundStop:
        stop = _STOPS.get(self._reason or "", "malformed")
        if stop == "tool_use" and not self._calls_allowed and self._said:
            return "end_turn"
        return stop if stop != "tool_use" or self._calls_allowed else "malformed"

    def _start_block(self, data: Json) -> Iterator[ModelEvent]:
        start = pick(data, "start", dict)
        block = self._block(data)
        if call := find(start, "toolUse", dict):
            block |= {"call": pick(call, "toolUseId", str), "tool": pick(call, "name", str), "input": ""}
            if call.get("type") == "server_tool_use":
                block["theirs"] = True
        yield from ()

    def _grow_block(self, data: Json) -> Iterator[ModelEvent]:
        delta, block = pick(data, "delta", dict), self._block(data)
        if call := find(delta, "toolUse", dict):
            piece = pick(call, "input", str)
            block["input"] = block.get("input", "") + piece
            yield ArgumentsDelta(piece) if self._forced and piece else StillWorking()
        elif words := find(delta, "text", str):
            self._said = self._said or bool(words.strip())
            yield TextDelta(words)
        elif thought := find(delta, "reasoningContent", dict):
            yield from self._think(thought, block)

    def _think(self, thought: Json, block: Json) -> Iterator[ModelEvent]:
        if words := find(thought, "text", str):
            block["thought"] = block.get("thought", "") + words
            yield ThinkingDelta(words)
        if signature := find(thought, "signature", str):
            block["signature"] = block.get("signature", "") + signature
        if redacted := find(thought, "redactedContent", bytes):
            block["redacted"] = block.get("redacted", b"") + redacted

    def _end_block(self, data: Json) -> Iterator[ModelEvent]:
        block = self._block(data)
        if "call" in block and "theirs" not in block:
            self._calls.add_call(block["call"], block["tool"], find_arguments(block["input"]))
        elif state := _find_state(block):
            payload = json.dumps(state)
            yield from self._calls.pass_state(OpaqueBlock(provider=PROVIDER, payload=payload))

    def _end_message(self, data: Json) -> Iterator[ModelEvent]:
        self._reason = pick(data, "stopReason", str)
        yield from ()

    def _block(self, data: Json) -> Json:
        # A block of words has no start.
        return self._blocks.setdefault(pick(data, "contentBlockIndex", int), {})


def _find_state(block: Json) -> Json | None:
    """What must be sent back; a thought that was cut off has no signature, and is refused."""
    if "redacted" in block:
        return {"redactedContent": b64encode(block["redacted"]).decode("ascii")}
    if "signature" in block:
        return {"reasoningText": {"text": block.get("thought", ""), "signature": block["signature"]}}
    return None


def read_usage(told: object) -> Usage | None:
    """Tokens; None where they were not told. The API counts cache reads and writes apart from its input."""
    counts = TokenCounts(told)
    cached, written = counts.read("cacheReadInputTokens"), counts.read("cacheWriteInputTokens")
    return counts.settle(
        Usage(
            input_tokens=counts.read("inputTokens") + cached + written,
            output_tokens=counts.read("outputTokens"),
            cached_input_tokens=cached,
            cache_write_tokens=written,
        )
    )

"""Reads one round's stream of responses; knows the wire, not the network."""

import json
from collections.abc import Iterable, Iterator
from uuid import uuid4

from equerry.adapters.google.failures import read_error
from equerry.adapters.google.request import OWN_ID, PROVIDER, Json
from equerry.adapters.rounds.failures import broke_off
from equerry.adapters.rounds.reading import HeldCalls, TokenCounts, end_round, find, find_arguments, pick
from equerry.engine.messages import OpaqueBlock
from equerry.engine.model import (
    ArgumentsDelta,
    ModelEvent,
    RoundEnd,
    RoundStop,
    StillWorking,
    TextDelta,
    ThinkingDelta,
)
from equerry.kernel.usage import Usage

_STOPS: dict[str, RoundStop] = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "BLOCKLIST": "filtered",
    "ESCALATION": "filtered",
    "IMAGE_SAFETY": "filtered",
    "LANGUAGE": "filtered",
    "MODEL_ARMOR": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "RECITATION": "filtered",
    "SAFETY": "filtered",
    "SPII": "filtered",
}


class ContentReader:
    """Turns a stream's responses into ours; `forced` is the tool whose arguments the answer's text is."""

    def __init__(self, *, forced: str | None = None) -> None:
        self._forced = forced
        self._calls = HeldCalls()
        self._written = ""
        self._usage: Json = {}

    def read(self, responses: Iterable[Json]) -> Iterator[ModelEvent]:
        """Yield ours until a reason to finish; what is not known is skipped.

        Raises:
            AttemptFailed: an error in mid-stream, a response that cannot be read, or the end is missing.
        """
        for response in responses:
            if "error" in response:
                raise read_error(pick(response, "error", dict))
            self._usage |= find(response, "usageMetadata", dict) or {}
            if (find(response, "promptFeedback", dict) or {}).get("blockReason"):
                yield self._end("filtered")
                return
            for candidate in (find(response, "candidates", list) or [])[:1]:
                if not isinstance(candidate, dict):
                    raise broke_off("held a candidate that is not an object")
                yield from self._read_parts(find(candidate, "content", dict) or {})
                if reason := find(candidate, "finishReason", str):
                    yield from self._finish(reason)
                    return
        raise broke_off("ended before the answer did")

    def _read_parts(self, content: Json) -> Iterator[ModelEvent]:
        for part in find(content, "parts", list) or []:
            if not isinstance(part, dict):
                raise broke_off("held a part that is not an object")
            if "functionCall" in part:
                self._call(pick(part, "functionCall", dict))
                yield StillWorking()
            elif part.get("thought"):
                yield from _think(part)
                continue
            elif "text" in part:
                yield from self._say(pick(part, "text", str))
            if signature := find(part, "thoughtSignature", str):
                kept = {"thoughtSignature": signature, **({"text": part["text"]} if "text" in part else {})}
                yield from self._calls.pass_state(OpaqueBlock(provider=PROVIDER, payload=json.dumps(kept)))

    def _call(self, call: Json) -> None:
        call_id = find(call, "id", str) or f"{OWN_ID}{uuid4().hex}"
        arguments = call.get("args")
        # What has no arguments is sent without any.
        self._calls.add_call(call_id, pick(call, "name", str), {} if arguments is None else arguments)

    def _say(self, words: str) -> Iterator[ModelEvent]:
        if self._forced is not None:
            self._written += words
            yield ArgumentsDelta(words) if words else StillWorking()
        elif words:
            yield TextDelta(words)

    def _finish(self, reason: str) -> Iterator[ModelEvent]:
        stop = _STOPS.get(reason, "malformed")
        if stop == "end_turn":
            if self._forced is not None and self._written.strip():
                self._calls.add_call(f"{OWN_ID}{uuid4().hex}", self._forced, find_arguments(self._written))
            stop = "tool_use" if self._calls.asked or self._forced is not None else stop
        yield from self._calls.release(stop)
        yield self._end(self._calls.settle(stop))

    def _end(self, stop: RoundStop) -> RoundEnd:
        return end_round(stop, read_usage(self._usage))


def _think(part: Json) -> Iterator[ModelEvent]:
    if words := find(part, "text", str):
        yield ThinkingDelta(words)


def read_usage(told: object) -> Usage | None:
    """Tokens; None where they were not told.

    The API counts cached ones in with its prompt, and thoughts apart from its candidates.
    """
    counts = TokenCounts(told)
    thoughts = counts.read("thoughtsTokenCount")
    return counts.settle(
        Usage(
            input_tokens=counts.read("promptTokenCount") + counts.read("toolUsePromptTokenCount"),
            output_tokens=counts.read("candidatesTokenCount") + thoughts,
            cached_input_tokens=counts.read("cachedContentTokenCount"),
            reasoning_tokens=thoughts,
        )
    )

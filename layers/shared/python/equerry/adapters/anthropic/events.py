"""Reads one message's stream of events; knows the wire, not the network."""

import json
from collections.abc import Callable, Iterable, Iterator

from equerry.adapters.anthropic.failures import read_stream_error
from equerry.adapters.anthropic.request import PROVIDER, Json
from equerry.adapters.rounds.failures import broke_off
from equerry.adapters.rounds.reading import HeldCalls, TokenCounts, find, find_arguments, parse_event, pick
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

PAUSED = "pause_turn"
_STOPS: dict[str, RoundStop] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}
_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_SHOWN: dict[str, Callable[[str], ModelEvent]] = {"text": TextDelta, "thinking": ThinkingDelta}


class MessageReader:
    """Turns a stream's events into ours, and keeps what the message was made of.

    Attributes:
        content: the blocks exactly as they must be sent back.
        reason: the provider's own stop reason, blank until it is known.
    """

    def __init__(self, *, forced: bool = False) -> None:
        self._forced = forced
        self.content: list[Json] = []
        self.reason = ""
        self._usage: Json = {}
        self._partial_json = ""
        self._grows = False
        self._calls = HeldCalls()
        self._readers = {
            "message_start": self._start_message,
            "content_block_start": self._start_block,
            "content_block_delta": self._grow_block,
            "content_block_stop": self._end_block,
            "message_delta": self._end_message,
            "ping": self._wait,
            "error": self._fail,
        }

    def read(self, events: Iterable[tuple[str, str]]) -> Iterator[ModelEvent]:
        """Yield ours until the terminal event; `events` are names with their JSON, unknown names are skipped.

        Tool calls are held back until the stop reason says that they are whole.

        Raises:
            AttemptFailed: an error event, one that cannot be read, or an end without the terminal event.
        """
        for name, data in events:
            if name == "message_stop":
                yield from self._calls.release(_STOPS.get(self.reason, "malformed"))
                return
            # Read also where its name says nothing: what cannot be read may have been a part of the answer.
            event = parse_event(data)
            if reader := self._readers.get(name):
                yield from reader(event)
        raise broke_off("ended before the message did")

    @property
    def stop(self) -> RoundStop:
        """Why it ended; without a usable tool call a wait for its result is malformed."""
        return self._calls.settle(_STOPS.get(self.reason, "malformed"))

    @property
    def usage(self) -> Usage | None:
        """Tokens; None where they were not told. The API counts cache reads and writes apart from input."""
        counts = TokenCounts(self._usage)
        cached, written = counts.read("cache_read_input_tokens"), counts.read("cache_creation_input_tokens")
        return counts.settle(
            Usage(
                input_tokens=counts.read("input_tokens") + cached + written,
                output_tokens=counts.read("output_tokens"),
                cached_input_tokens=cached,
                cache_write_tokens=written,
                reasoning_tokens=counts.read("output_tokens_details", "thinking_tokens"),
            )
        )

    def _start_message(self, event: Json) -> Iterator[ModelEvent]:
        self._add_usage(pick(event, "message", dict))
        yield from ()

    def _start_block(self, event: Json) -> Iterator[ModelEvent]:
        block = dict(pick(event, "content_block", dict))
        if pick(event, "index", int) != len(self.content) or self._grows:
            raise broke_off("numbered its blocks out of order")
        pick(block, "type", str)
        for part in _GROWING.values():
            find(block, part, str)
        self.content.append(block)
        self._partial_json, self._grows = "", True
        if block["type"] == "text" and block.get("text"):
            yield TextDelta(block["text"])

    def _grow_block(self, event: Json) -> Iterator[ModelEvent]:
        delta = pick(event, "delta", dict)
        kind = pick(delta, "type", str)
        if kind == "input_json_delta":
            piece = pick(delta, "partial_json", str)
            self._last_block(event)
            self._partial_json += piece
            yield ArgumentsDelta(piece) if self._forced and piece else StillWorking()
        elif part := _GROWING.get(kind):
            more = pick(delta, part, str)
            block = self._last_block(event)
            block[part] = (block.get(part) or "") + more
            if more and part in _SHOWN:
                yield _SHOWN[part](more)

    def _end_block(self, event: Json) -> Iterator[ModelEvent]:
        block = self._last_block(event)
        self._grows = False
        if self._partial_json:
            block["input"] = find_arguments(self._partial_json)
        if block["type"] == "tool_use":
            self._calls.add_call(pick(block, "id", str), pick(block, "name", str), block.get("input"))
        elif block["type"] != "text" and _is_whole(block):
            yield from self._calls.pass_state(OpaqueBlock(provider=PROVIDER, payload=json.dumps(block)))

    def _end_message(self, event: Json) -> Iterator[ModelEvent]:
        if self._grows:
            raise broke_off("ended in the middle of a block")
        self.reason = find(pick(event, "delta", dict), "stop_reason", str) or self.reason
        self._add_usage(event)
        yield from ()

    def _fail(self, event: Json) -> Iterator[ModelEvent]:
        raise read_stream_error(pick(pick(event, "error", dict), "type", str))

    def _wait(self, _event: Json) -> Iterator[ModelEvent]:
        yield StillWorking()

    def _add_usage(self, source: Json) -> None:
        counts = find(source, "usage", dict) or {}
        self._usage |= {name: count for name, count in counts.items() if count is not None}

    def _last_block(self, event: Json) -> Json:
        """Return the block that an event belongs to: one grows at a time."""
        if not self._grows or pick(event, "index", int) != len(self.content) - 1:
            raise broke_off("went on with a block that it had not begun")
        return self.content[-1]


def _is_whole(block: Json) -> bool:
    """A thinking block cut off by the allowance has no signature, and is refused when sent back."""
    return block["type"] != "thinking" or bool(block.get("signature"))

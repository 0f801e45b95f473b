"""Reads one response's stream of events; knows the wire, not the network."""

import json
from collections.abc import Callable, Iterable, Iterator

from equerry.adapters.openai.failures import FILTER_CODES, read_response_error
from equerry.adapters.openai.request import PROVIDER, Json
from equerry.adapters.openai.strict import StrictForm
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

_INCOMPLETE: dict[str, RoundStop] = {"max_output_tokens": "max_tokens", "content_filter": "filtered"}


class ResponseReader:
    """Turns a response's events into ours; a call of a tool in its strict form comes back in its own."""

    def __init__(self, *, forced: bool = False, strict: StrictForm | None = None) -> None:
        self._forced = forced
        self._strict = strict
        self._calls = HeldCalls()
        self._refused = False
        self._readers: dict[str, Callable[[Json], Iterator[ModelEvent]]] = {
            "response.queued": self._wait,
            "response.in_progress": self._wait,
            "response.function_call_arguments.delta": self._argue,
            "response.output_text.delta": self._say,
            "response.refusal.delta": self._refuse,
            "response.reasoning_summary_text.delta": self._think,
            "response.output_item.done": self._end_item,
            "response.completed": self._complete,
            "response.incomplete": self._break_off,
            "response.failed": self._fail,
            "error": self._raise,
        }

    def read(self, events: Iterable[Json]) -> Iterator[ModelEvent]:
        """Yield ours until the terminal event; types that are not known are skipped.

        Raises:
            AttemptFailed: the response failed, an event cannot be read, or the end is missing.
        """
        for event in events:
            if reader := self._readers.get(pick(event, "type", str)):
                for mine in reader(event):
                    yield mine
                    if isinstance(mine, RoundEnd):
                        return
        raise broke_off("ended before the response did")

    def _wait(self, _event: Json) -> Iterator[ModelEvent]:
        yield StillWorking()

    def _argue(self, event: Json) -> Iterator[ModelEvent]:
        piece = pick(event, "delta", str) if self._forced else ""
        yield ArgumentsDelta(piece) if piece else StillWorking()

    def _say(self, event: Json) -> Iterator[ModelEvent]:
        if words := pick(event, "delta", str):
            yield TextDelta(words)

    def _refuse(self, event: Json) -> Iterator[ModelEvent]:
        self._refused = True
        yield from self._say(event)

    def _think(self, event: Json) -> Iterator[ModelEvent]:
        if words := pick(event, "delta", str):
            yield ThinkingDelta(words)

    def _end_item(self, event: Json) -> Iterator[ModelEvent]:
        item = pick(event, "item", dict)
        kind = pick(item, "type", str)
        if kind == "function_call":
            arguments = find_arguments(pick(item, "arguments", str))
            if arguments is not None and self._strict is not None:
                arguments = self._strict.restore(arguments)
            self._calls.add_call(pick(item, "call_id", str), pick(item, "name", str), arguments)
        elif kind == "reasoning" and item.get("encrypted_content"):
            # Without its encrypted content it could only be looked up where nothing was stored.
            kept = {
                name: item[name] for name in ("type", "id", "summary", "encrypted_content") if name in item
            }
            yield from self._calls.pass_state(OpaqueBlock(provider=PROVIDER, payload=json.dumps(kept)))

    def _complete(self, event: Json) -> Iterator[ModelEvent]:
        stop: RoundStop = "end_turn"
        if self._refused:
            stop = "refusal"
        elif self._calls.asked:
            stop = "tool_use"
        return self._end(event, stop)

    def _break_off(self, event: Json) -> Iterator[ModelEvent]:
        details = find(pick(event, "response", dict), "incomplete_details", dict) or {}
        return self._end(event, _INCOMPLETE.get(find(details, "reason", str) or "", "malformed"))

    def _fail(self, event: Json) -> Iterator[ModelEvent]:
        code = find(find(pick(event, "response", dict), "error", dict) or {}, "code", str) or ""
        if code in FILTER_CODES:
            return self._end(event, "filtered")
        raise read_response_error(code)

    def _raise(self, event: Json) -> Iterator[ModelEvent]:
        # Its fields stand in the event itself, or one level below it.
        nested = find(event, "error", dict) or {}
        raise read_response_error(find(event, "code", str) or find(nested, "code", str) or "")

    def _end(self, event: Json, stop: RoundStop) -> Iterator[ModelEvent]:
        yield from self._calls.release(stop)
        usage = read_usage(pick(event, "response", dict).get("usage"))
        yield end_round(self._calls.settle(stop), usage)


def read_usage(told: object) -> Usage | None:
    """Tokens; None where they were not told.

    The API counts cached ones in with its input, and reasoning in with its output.
    """
    counts = TokenCounts(told)
    return counts.settle(
        Usage(
            input_tokens=counts.read("input_tokens"),
            output_tokens=counts.read("output_tokens"),
            cached_input_tokens=counts.read("input_tokens_details", "cached_tokens"),
            cache_write_tokens=counts.read("input_tokens_details", "cache_write_tokens"),
            reasoning_tokens=counts.read("output_tokens_details", "reasoning_tokens"),
        )
    )

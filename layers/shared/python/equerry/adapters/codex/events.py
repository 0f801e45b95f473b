"""Reads the lines that one run of the command prints; knows the format, not the process."""

from collections.abc import Callable, Iterable, Iterator
from uuid import uuid4

from equerry.adapters.codex.request import Json
from equerry.adapters.rounds.failures import broke_off, not_answering
from equerry.adapters.rounds.reading import (
    HeldCalls,
    TokenCounts,
    end_round,
    find,
    find_arguments,
    parse_event,
    pick,
)
from equerry.engine.model import ModelEvent, RoundEnd, RoundStop, StillWorking, TextDelta, ThinkingDelta
from equerry.kernel.usage import Usage


class RunReader:
    """Turns the lines into ours; with `offered`, the last message is JSON that may call those tools."""

    def __init__(self, *, offered: frozenset[str], calls_allowed: bool) -> None:
        self._offered = offered
        self._calls_allowed = calls_allowed
        self._calls = HeldCalls()
        self._message: str | None = None
        self._readers: dict[str, Callable[[Json], Iterator[ModelEvent]]] = {
            "item.completed": self._end_item,
            "turn.completed": self._complete,
            "turn.failed": self._fail,
        }

    def read(self, lines: Iterable[bytes]) -> Iterator[ModelEvent]:
        """Yield ours until the turn has ended; what is not known shows that it is there.

        Raises:
            AttemptFailed: the turn failed, a line cannot be read, or the end is missing.
        """
        for line in lines:
            if not line.strip():
                continue
            event = parse_event(line)
            reader = self._readers.get(pick(event, "type", str))
            for mine in reader(event) if reader else (StillWorking(),):
                yield mine
                if isinstance(mine, RoundEnd):
                    return
        raise broke_off("ended before the turn did")

    def _end_item(self, event: Json) -> Iterator[ModelEvent]:
        item = pick(event, "item", dict)
        # The kind of an item had another name once.
        kind = item.get("type") or item.get("item_type")
        if kind == "agent_message":
            if self._message:
                # Only the last message is the answer.
                yield ThinkingDelta(self._message)
            self._message = pick(item, "text", str)
        elif kind == "reasoning" and (thought := find(item, "text", str)):
            yield ThinkingDelta(thought)
        yield StillWorking()

    def _complete(self, event: Json) -> Iterator[ModelEvent]:
        text, stop = self._read_message(self._message or "")
        if text.strip():
            yield TextDelta(text)
        yield from self._calls.release(stop)
        yield end_round(self._calls.settle(stop), read_usage(event.get("usage")))

    def _read_message(self, message: str) -> tuple[str, RoundStop]:
        """Return the words of the last message and how it stops, and hold its calls."""
        if not self._offered:
            return message, "end_turn" if message.strip() else "malformed"
        told = find_arguments(message) or {}
        text, calls = told.get("text"), told.get("calls")
        if not isinstance(text, str) or not isinstance(calls, list) or not all(map(self._is_call, calls)):
            return "", "malformed"
        for call in calls if self._calls_allowed else []:
            self._calls.add_call(f"call-{uuid4().hex}", call["tool"], find_arguments(call["arguments"]))
        return text, "tool_use" if self._calls.asked else "end_turn"

    def _is_call(self, call: object) -> bool:
        if not isinstance(call, dict):
            return False
        return call.get("tool") in self._offered and isinstance(call.get("arguments"), str)

    def _fail(self, _event: Json) -> Iterator[ModelEvent]:
        # Its message is not repeated: it can hold the prompt.
        raise not_answering("the turn failed", "overloaded")


def read_usage(told: object) -> Usage | None:
    """Tokens of the whole run, which may have asked its model several times; None where not told."""
    counts = TokenCounts(told)
    return counts.settle(
        Usage(
            input_tokens=counts.read("input_tokens"),
            output_tokens=counts.read("output_tokens"),
            cached_input_tokens=counts.read("cached_input_tokens"),
            reasoning_tokens=counts.read("reasoning_output_tokens"),
        )
    )

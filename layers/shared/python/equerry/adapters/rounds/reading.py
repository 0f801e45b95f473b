"""Reads what a provider sends without trusting its shape."""

import json
from collections.abc import Iterator
from typing import Any, TypeVar

from equerry.adapters.rounds.failures import broke_off
from equerry.engine.messages import OpaqueBlock, ToolCallBlock
from equerry.engine.model import ModelEvent, OpaqueState, RoundEnd, RoundStop, ToolCallReady
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.usage import Usage

Json = dict[str, Any]
_T = TypeVar("_T")
_NO_TABLE = object()

UNUSABLE_ARGUMENTS = "The arguments were no JSON object, and nothing was run. Call again with one."


def parse_event(data: str | bytes) -> Json:
    """Read one event's JSON object.

    Raises:
        AttemptFailed: it is not one.
    """
    try:
        event = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise broke_off("held an event that is not JSON") from None
    if not isinstance(event, dict):
        raise broke_off("held an event that is not an object")
    return event


def pick(source: Json, name: str, kind: type[_T]) -> _T:
    """Return a field that must be there and of that kind.

    Raises:
        AttemptFailed: it is not.
    """
    found = source.get(name)
    if not isinstance(found, kind):
        raise broke_off(f"held an event without its {name}")
    return found


def find(source: Json, name: str, kind: type[_T]) -> _T | None:
    """Return a field that may be missing or null, and else must be of that kind.

    Raises:
        AttemptFailed: it is of another.
    """
    found = source.get(name)
    if found is not None and not isinstance(found, kind):
        raise broke_off(f"held an event with another {name} than its protocol has")
    return found


def find_arguments(text: str) -> Json | None:
    """Read a tool call's arguments; blank is none, and None stands for what cannot be used."""
    if not text.strip():
        return {}
    try:
        # NaN and the infinities are no JSON, and no store takes them.
        arguments = json.loads(_join_halves(text), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None


def _join_halves(text: str) -> str:
    """With one character where a stream was cut between the two halves of it; a half alone stays."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


class TokenCounts:
    """What a provider says that a round took, which need not be there, or make sense."""

    def __init__(self, told: object) -> None:
        self._told = told
        self._sound = True

    def read(self, *path: str) -> int:
        """Return one count; 0 where none is told."""
        found: object = self._told
        for name in path:
            found = found.get(name) if isinstance(found, dict) else (found if found is None else _NO_TABLE)
        if found is None or (isinstance(found, int) and not isinstance(found, bool) and found >= 0):
            return found or 0
        self._sound = False
        return 0

    def settle(self, usage: Usage) -> Usage | None:
        """Return `usage`; None where a count made no sense or nothing was told: no round takes nothing."""
        return usage if self._sound and usage.tokens else None


def end_round(stop: RoundStop, usage: Usage | None) -> RoundEnd:
    """Return a round's end; without a usage it says that none was told."""
    return RoundEnd(stop=stop, usage=usage or Usage(), metered=usage is not None)


class HeldCalls:
    """Keeps a round's tool calls back until its stop reason says that they are whole.

    A provider's state that follows a call waits with it, so that blocks keep their order.
    """

    def __init__(self) -> None:
        self._held: list[ToolCallReady | OpaqueState] = []
        self._asked = False
        self._malformed = False

    def add_call(self, call_id: str, tool: str, arguments: object) -> None:
        """Hold a call; one whose arguments are no object says so, for the model to be told."""
        self._asked = True
        usable = isinstance(arguments, dict)
        call = ToolCallBlock(
            call_id=ToolCallId(call_id),
            tool=tool,
            arguments=arguments if isinstance(arguments, dict) else {},
            problem=None if usable else UNUSABLE_ARGUMENTS,
        )
        self._held.append(ToolCallReady(call))

    def pass_state(self, block: OpaqueBlock) -> Iterator[ModelEvent]:
        """Yield the state now, or hold it behind a call."""
        state = OpaqueState(block)
        if self._held:
            self._held.append(state)
        else:
            yield state

    @property
    def asked(self) -> bool:
        """Whether there was a call."""
        return self._asked

    def settle(self, stop: RoundStop) -> RoundStop:
        """Return how the round really stopped: one that waits for results has calls."""
        return "malformed" if stop == "tool_use" and not self._asked else stop

    def release(self, stop: RoundStop) -> Iterator[ModelEvent]:
        """Yield what was held; of calls only those of a round that stopped for them."""
        usable = self.settle(stop) == "tool_use"
        yield from (held for held in self._held if usable or isinstance(held, OpaqueState))

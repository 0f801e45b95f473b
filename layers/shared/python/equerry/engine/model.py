"""One round with a model: what is asked, and the events that come back."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Literal

from equerry.engine.messages import OpaqueBlock, ToolCallBlock
from equerry.engine.thread import Thread
from equerry.kernel.kinds import message, value
from equerry.kernel.usage import Usage

RoundStop = Literal["end_turn", "tool_use", "max_tokens", "refusal", "malformed"]
"""Why a round ended. Only `tool_use` allows its tool calls to be executed: the others can leave half a call.

end_turn    the model had finished (a stop sequence counts)
tool_use    it waits for the results of its calls
max_tokens  the output allowance, or the context, ran out
refusal     the provider or the model declined
malformed   the provider says the round cannot be used
"""


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as the model sees it; `input_schema` is JSON Schema 2020-12 with an object at its root."""

    name: str
    description: str
    input_schema: Mapping[str, object]


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Instructions in cache order: `stable` is byte-identical from turn to turn, `dynamic` is this turn's."""

    stable: str
    dynamic: str = ""


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One round. `tools` stays listed when `tools_allowed` is False, so that a provider's cache holds."""

    prompt: Prompt
    thread: Thread
    tools: tuple[ToolSpec, ...] = ()
    tools_allowed: bool = True
    max_output_tokens: int = 2048
    deadline_s: float = 240.0


@message
@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text; never empty."""

    text: str


@message
@dataclass(frozen=True, slots=True)
class ToolCallReady:
    """A tool call whose arguments have arrived whole."""

    call: ToolCallBlock


@message
@dataclass(frozen=True, slots=True)
class OpaqueState:
    """A provider's own state, to be kept in place in the thread."""

    block: OpaqueBlock


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEnd:
    """The round's only terminal event, and its last."""

    stop: RoundStop
    usage: Usage


ModelEvent = TextDelta | ToolCallReady | OpaqueState | RoundEnd
ModelStream = Generator[ModelEvent, None, None]
"""One round as it happens; exactly one RoundEnd, last. Closing it ends the provider's stream."""
StreamRound = Callable[[ModelRequest], ModelStream]

"""One round with a model: what is asked, and the events that come back."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from equerry.engine.cancellation import Cancellation
from equerry.engine.messages import OpaqueBlock, ToolCallBlock
from equerry.engine.model_choice import ModelChoice as ModelChoice
from equerry.engine.thread import Thread
from equerry.kernel.kinds import message, value
from equerry.kernel.usage import Usage

RoundStop = Literal["end_turn", "tool_use", "max_tokens", "refusal", "filtered", "malformed"]
"""Why a round ended. Only `tool_use` allows its tool calls to be executed: the others can leave half a call.

end_turn    the model had finished (a stop sequence counts)
tool_use    it waits for the results of its calls
max_tokens  the output allowance, or the context, ran out
refusal     the model declined
filtered    a filter or guardrail of the provider's cut it off
malformed   the provider says the round cannot be used
"""
ReasoningLevel = Literal["low", "medium", "high"]


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
    """Instructions in cache order: `stable` is byte-identical from turn to turn, `dynamic` is this turn's.

    The boundary between the two is where a provider's cache is marked.
    """

    stable: str
    dynamic: str = ""


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One round.

    Attributes:
        tools: stays listed when `tools_allowed` is False, so that a provider's cache holds.
        forced_tool: the one of `tools` that must be called, once; no reasoning is asked for then where the
            provider refuses the two together.
        reasoning: how hard to think first; None leaves it to the model.
        attempts: in all, at least 1; each failure before the first delta may take one.
        may_restart: whoever reads this round understands `Restarted`.
        cancellation: ends the round from another thread, also while it waits.
    """

    prompt: Prompt
    thread: Thread
    tools: tuple[ToolSpec, ...] = ()
    tools_allowed: bool = True
    max_output_tokens: int = 2048
    deadline_s: float = 240.0
    forced_tool: str | None = None
    reasoning: ReasoningLevel | None = None
    attempts: int = 4
    may_restart: bool = False
    cancellation: Cancellation = field(default_factory=Cancellation, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.forced_tool is not None and self.forced_tool not in {tool.name for tool in self.tools}:
            raise ValueError(f"the forced tool {self.forced_tool!r} is not among the tools")


@message
@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text; never empty."""

    text: str


@message
@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of the summary of its thoughts that a provider shows; never empty, and no part of the answer."""

    text: str


@message
@dataclass(frozen=True, slots=True)
class StillWorking:
    """The provider is there and has nothing to say yet; it may come any number of times, also never."""


@message
@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """More of the JSON of a forced call's arguments; never empty, to be shown and nothing else.

    What counts is the call, which comes whole. Providers that send calls whole have none of these.
    """

    text: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """All that this round has brought is to be discarded: it begins anew, with `model`."""

    model: ModelChoice
    reason: str


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
    """The round's only terminal event, and its last.

    Attributes:
        model: the one that ran, where it is not the one that was asked for.
        metered: the provider told what the round took; otherwise `usage` is empty, which is not nothing.
    """

    stop: RoundStop
    usage: Usage
    model: ModelChoice | None = None
    metered: bool = True


ModelEvent = (
    TextDelta
    | ThinkingDelta
    | ArgumentsDelta
    | StillWorking
    | Restarted
    | ToolCallReady
    | OpaqueState
    | RoundEnd
)
ModelStream = Generator[ModelEvent, None, None]
"""One round as it happens; exactly one RoundEnd, last. Closing it ends the provider's stream."""
StreamRound = Callable[[ModelRequest], ModelStream]

"""An assistant made ready for one turn: instructions, tools and bounds."""

from dataclasses import dataclass, fields

from equerry.engine.model import Prompt, ToolSpec
from equerry.engine.tool import Tool
from equerry.kernel.kinds import value


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """Bounds of one run.

    Attributes:
        rounds: model calls, at least 1; the last one may not call tools, so that it answers.
        tool_calls: tool executions in all.
        wall_s: seconds from the first round to the last.
        first_chunk_s: how long the model may say nothing before it begins a round, the adapter's retries
            included.
        inter_chunk_s: how long it may say nothing later; the adapters' own bounds are tighter and know more.
        round_output_tokens: output allowance of one round.
        input_tokens: cumulative input of the run.
        output_tokens: cumulative output of the run.
    """

    rounds: int = 8
    tool_calls: int = 20
    wall_s: float = 240.0
    first_chunk_s: float = 120.0
    inter_chunk_s: float = 60.0
    round_output_tokens: int = 2048
    input_tokens: int = 150_000
    output_tokens: int = 8_000

    def __post_init__(self) -> None:
        for limit in fields(self):
            amount = getattr(self, limit.name)
            if amount < 0 or (amount == 0 and limit.name != "tool_calls"):
                raise ValueError(f"{limit.name} must be positive, got {amount}")


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Assistant:
    """What a run needs to know; tool names are unique."""

    prompt: Prompt
    tools: tuple[Tool, ...] = ()
    limits: LoopLimits = LoopLimits()

    def __post_init__(self) -> None:
        names = [tool.spec.name for tool in self.tools]
        if len(names) != len(set(names)):
            raise ValueError(f"tool names must be unique, got {names!r}")

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them, in the assistant's order."""
        return tuple(tool.spec for tool in self.tools)

    def find_tool(self, name: str) -> Tool | None:
        """Return the tool of that name, or None for one the model made up."""
        return next((tool for tool in self.tools if tool.spec.name == name), None)

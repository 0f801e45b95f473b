"""An assistant made ready for one turn: instructions, tools and bounds."""

from dataclasses import dataclass

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
        round_output_tokens: output allowance of one round.
        input_tokens: cumulative input of the run.
        output_tokens: cumulative output of the run.
    """

    rounds: int = 8
    tool_calls: int = 20
    wall_s: float = 240.0
    round_output_tokens: int = 2048
    input_tokens: int = 150_000
    output_tokens: int = 8_000

    def __post_init__(self) -> None:
        for name in ("rounds", "wall_s", "round_output_tokens", "input_tokens", "output_tokens"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if self.tool_calls < 0:
            raise ValueError(f"tool_calls must be >= 0, got {self.tool_calls}")


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

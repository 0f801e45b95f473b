"""An assistant made ready for one turn: instructions, tools and bounds."""

from dataclasses import dataclass, field

from equerry.engine.loop_limits import LoopLimits
from equerry.engine.model import Prompt, ToolSpec
from equerry.engine.tool import Tool
from equerry.kernel.kinds import value


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Assistant:
    """What a run needs to know; tool names are unique."""

    prompt: Prompt
    tools: tuple[Tool, ...] = ()
    limits: LoopLimits = field(default_factory=LoopLimits)

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

"""The tools of a turn, behind an operator's switches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from equerry.domain.profiles import Profile
from equerry.engine.model import ToolSpec
from equerry.engine.tool import Tool, ToolEffect, ToolOutcome
from equerry.ports.switches import SwitchPort

PackOf = Callable[[str], str]
"""Names the pack a tool belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ToolBehindSwitch:
    """A tool that asks the switch before each call: a turn it was offered in may outlast its being on."""

    tool: Tool
    pack: str
    switch: SwitchPort

    @property
    def spec(self) -> ToolSpec:
        """The tool's own."""
        return self.tool.spec

    @property
    def label(self) -> str:
        """The tool's own."""
        return self.tool.label

    @property
    def effect(self) -> ToolEffect:
        """The tool's own."""
        return self.tool.effect

    def run(self, arguments: Mapping[str, object]) -> ToolOutcome:
        """Run the tool, or answer the model that it is off."""
        if not self.switch.read().is_tool_on(self.spec.name, pack=self.pack):
            content = f"{self.spec.name} has been switched off for the moment. {_DO_WITHOUT}"
            return ToolOutcome(
                content=content, summary="Switched off for the moment", ok=False, failure="skipped"
            )
        return self.tool.run(arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSwitchService:
    """Which of a turn's tools are on."""

    switch: SwitchPort
    pack_of: PackOf

    def offer(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        """Return the tools that are on, each to be asked about again when it is called."""
        now = self.switch.read()
        guarded = (
            _ToolBehindSwitch(tool=tool, pack=self.pack_of(tool.spec.name), switch=self.switch)
            for tool in tools
        )
        return tuple(tool for tool in guarded if now.is_tool_on(tool.spec.name, pack=tool.pack))

    def list_degraded(self, profile: Profile) -> tuple[str, ...]:
        """Return the profile's tools that are off, in its order: the model is told of them."""
        now = self.switch.read()
        return tuple(name for name in profile.tools if not now.is_tool_on(name, pack=self.pack_of(name)))


_DO_WITHOUT = "Do without it, and say so if the answer suffers."

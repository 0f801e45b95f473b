"""A tool: what the model may ask for, and what it is told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from equerry.engine.model import ToolSpec
from equerry.kernel.kinds import result


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What a tool answered.

    Attributes:
        content: for the model; never blank, already fenced where it is untrusted.
        summary: for the person watching, one short line; None shows nothing.
        ok: False tells the model that the call failed and why.
    """

    content: str
    summary: str | None = None
    ok: bool = True


class Tool(Protocol):
    """One tool, already bound to the principal of the turn.

    `run` never raises for bad arguments or a foreseen failure: it answers with `ok=False`, which the
    model can react to.
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def label(self) -> str:
        """What is happening while it runs, for the person watching: "Searching the documents"."""
        ...

    def run(self, arguments: Mapping[str, object]) -> ToolOutcome: ...

"""A tool: what the model may ask for, and what it is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from equerry.engine.model import ToolSpec
from equerry.engine.tool_failures import ToolFailure as ToolFailure
from equerry.kernel.identifiers import ProjectId
from equerry.kernel.kinds import result

ToolEffect = Literal["read", "write"]
"""What a call leaves behind: nothing, or something that outlives the turn.

Reads of one round may run side by side. A write runs alone, and never once the turn was stopped.
"""


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What a tool answered.

    Attributes:
        content: for the model; never blank, already fenced where it is untrusted.
        summary: for the person watching: one plain sentence, such as "Read 2 passages"; None shows none.
        ok: False tells the model that the call failed and why.
        failure: which failure, where `ok` is False.
        facts: the result in numbers and names for the audit, and never anybody's words.
        account: what was decided on the way, for the run's record: ids, counts and scores alone.
        project_ids: the projects whose content this is; who leaves one of them sees the turn no more.
    """

    content: str
    summary: str | None = None
    ok: bool = True
    failure: ToolFailure | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    account: Mapping[str, object] = field(default_factory=dict)
    project_ids: tuple[ProjectId, ...] = ()


class Tool(Protocol):
    """One tool, already bound to the principal of the turn.

    `run` is given arguments that fit the specification's schema. It answers a foreseen failure with
    `ok=False`, which the model can react to. Reads of one turn run at once, in several threads.
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def label(self) -> str:
        """What is happening while it runs, for the person watching: "Searching the documents"."""
        ...

    @property
    def effect(self) -> ToolEffect:
        """Whether it only reads."""
        ...

    def run(self, arguments: Mapping[str, object]) -> ToolOutcome: ...

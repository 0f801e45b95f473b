"""What both tools do with passages: give them handles, fence them, and say how many there are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from equerry.domain.corpora import Passage
from equerry.domain.evidence import Evidence
from equerry.domain.fencing import fence
from equerry.domain.passage_format import render_passages
from equerry.engine.tool import ToolOutcome

MAX_QUERY_CHARS = 1_000

FindPassages = Callable[[str], tuple[Passage, ...]]
"""Finds passages the person may read, best first; none is an ordinary answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageFinder:
    """One way to find passages, in one turn.

    Attributes:
        evidence: the turn's; what is not admitted there cannot be cited.
        nonce: the turn's; passages are untrusted text.
    """

    find: FindPassages
    evidence: Evidence
    nonce: str

    def answer(self, arguments: Mapping[str, object], *, name: str) -> ToolOutcome:
        """Search for the argument `name` and answer with what was found, ready for the model."""
        query = arguments.get(name)
        if not isinstance(query, str) or not query.strip():
            return ToolOutcome(
                content=f"{name!r} must be text that is not blank.", summary="refused", ok=False
            )
        if len(query) > MAX_QUERY_CHARS:
            content = f"{name!r} must be at most {MAX_QUERY_CHARS} characters, got {len(query)}."
            return ToolOutcome(content=content, summary="refused", ok=False)
        passages = self.evidence.admit(self.find(query.strip()))
        if not passages:
            # The same words whether nothing exists or nothing is permitted.
            return ToolOutcome(content="No passages were found.", summary="nothing found")
        content = fence(render_passages(passages), kind="tool_result", nonce=self.nonce)
        count = len(passages)
        return ToolOutcome(content=content, summary=f"{count} passage{'s' if count > 1 else ''}")

"""A tool call that contract suites keep and audit."""

from dataclasses import replace
from datetime import timedelta

from equerry.domain.steps import ToolStep
from equerry.kernel.identifiers import ToolCallId

from tests.fakes.clock import NOON


def build_step(position: int = 0, **changed: object) -> ToolStep:
    """Return a search that has finished."""
    step = ToolStep(
        position=position,
        call_id=ToolCallId(f"call-{position}"),
        tool="search_docs",
        label="Searching the documents",
        arguments={"query": "text of 10 characters"},
        started_at=NOON,
        finished_at=NOON + timedelta(seconds=1),
        duration_ms=31,
        ok=True,
        text="Found 2 passages in 1 document",
        facts={"passages": 2, "documents": 1, "characters": 900},
        account={"queryChars": 10},
    )
    return replace(step, **changed)  # type: ignore[arg-type]  # fields of ToolStep


def begin_step(position: int = 0, **changed: object) -> ToolStep:
    """Return a search that has only begun."""
    unreported = {"finished_at": None, "duration_ms": None, "ok": None, "text": None}
    return build_step(position, **unreported, facts={}, account={}, **changed)

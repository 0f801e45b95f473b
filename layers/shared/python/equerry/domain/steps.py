"""A run's tool calls as they are kept: for the person who watched, and for the audit."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from equerry.engine.tool_failures import ToolFailure
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.kinds import record

StepState = Literal["done", "failed", "unreported"]
"""What a person is told of a call; an unreported one has not said that it completed, and may never."""
ActionOutcome = Literal["ok", "error", "refused"]
"""How a call ended: it worked, it did not, or it was not run."""

FINISHED = "Finished this step"
FAILED_TEXTS: Mapping[ToolFailure, str] = {
    "unknown_tool": "That step isn’t available",
    "invalid_arguments": "The details didn’t fit, so this step didn’t run",
    "failed": "This step didn’t work",
    "skipped": "This step didn’t run",
    "unfinished": "This step was stopped before it finished",
    "outcome_unknown": "It isn’t known whether this step took effect",
}
_MAX_TEXT_CHARS = 200
_STRUCTURED = re.compile(r"[{}\[\]\n]|^\s*\"|\":")


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStep:
    """A tool call as its message shows it; `text` is one plain sentence, None shows the label alone."""

    call_id: ToolCallId
    tool: str
    label: str
    state: StepState
    text: str | None = None


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStep:
    """One tool call; without `finished_at` it has not reported that it completed.

    Attributes:
        position: its place in the run, from 0.
        label: what is shown while it runs.
        arguments: their shape, see `redact_arguments`.
        text: what is shown once it has finished; None shows the label alone.
        facts: the result in numbers and names, for the audit.
        account: what was decided on the way, for the run's record.
    """

    position: int
    call_id: ToolCallId
    tool: str
    label: str
    arguments: Mapping[str, object]
    started_at: datetime
    finished_at: datetime | None = None
    duration_ms: int | None = None
    ok: bool | None = None
    failure: ToolFailure | None = None
    text: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    account: Mapping[str, object] = field(default_factory=dict)
    model_id: str | None = None

    @property
    def outcome(self) -> ActionOutcome | None:
        """How it ended; None for a call that never told."""
        if self.ok is None:
            return None
        return "ok" if self.ok else derive_outcome(self.failure)

    def show(self) -> ShownStep:
        """Return what its message shows of it."""
        return show_step(call_id=self.call_id, tool=self.tool, label=self.label, ok=self.ok, text=self.text)


def show_step(*, call_id: ToolCallId, tool: str, label: str, ok: bool | None, text: str | None) -> ShownStep:
    """Return a kept step as it may be shown; a text that is no plain sentence is left out."""
    state: StepState = "unreported" if ok is None else "done" if ok else "failed"
    return ShownStep(call_id=call_id, tool=tool, label=label, state=state, text=find_plain_text(text))


def derive_outcome(failure: ToolFailure | None) -> ActionOutcome:
    """Return what the audit calls a call that did not work: one that was never run was refused."""
    return "error" if failure in (None, "failed", "unfinished", "outcome_unknown") else "refused"


def derive_step_text(summary: str | None, failure: ToolFailure | None) -> str:
    """Return the one plain sentence about a finished step, whatever its tool said of itself."""
    if failure is not None:
        return FAILED_TEXTS[failure]
    return find_plain_text(summary) or FINISHED


def find_plain_text(text: str | None) -> str | None:
    """Return a text that reads as one plain sentence; None for JSON and anything else that does not."""
    if not text or not text.strip() or len(text) > _MAX_TEXT_CHARS or _STRUCTURED.search(text):
        return None
    return text

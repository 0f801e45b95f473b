"""What an organisation's assistants did: one row an action, without anybody's words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, get_args

from equerry.domain.steps import ActionOutcome
from equerry.kernel.identifiers import ConversationId, DraftId, RunId, ToolCallId, UserId
from equerry.kernel.kinds import record, result, value

RETENTION_DAYS = 730
"""How long the audit keeps a row."""
FATIGUE_WINDOW = timedelta(days=30)
LEAST_ACCEPTED = 20
"""Fewer accepted drafts tell nothing of how people read them."""
FLAGGED_PCT = 90

DraftStage = Literal["staged", "accepted", "rejected", "failed", "unknown"]
"""What became of a draft; `unknown` is an acceptance whose outcome nobody could learn."""
READ_RECORD = "run_record_read"
"""The action of an administrator who reads the record of somebody else's run."""


def draft_action(stage: DraftStage) -> str:
    """Return the name under which the audit keeps a stage, where a tool's name stands otherwise."""
    return f"draft_{stage}"


DRAFT_ACTIONS = tuple(draft_action(stage) for stage in get_args(DraftStage))


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityPlace:
    """Where a page of activity ended: the rows after it are older."""

    at: datetime
    run_id: RunId
    position: int


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityFilter:
    """Which rows are wanted; `since` is inclusive, `before` exclusive, tools match exactly."""

    tool: str | None = None
    exclude_tool: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    outcome: ActionOutcome | None = None


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityRow:
    """One action: a tool call, a stage of a draft, or an administrator's look into a run.

    Attributes:
        position: its place among its run's, from 0.
        outcome: None for a call that never reported how it ended; its worker died.
        result: in numbers and names.
        duration_ms: None as well, and for what takes no time.
        target, operation, applied_record, edited: of a draft alone: what it writes to, how, which record that
            made or changed, and whether what was accepted differs from what was proposed.
    """

    run_id: RunId
    call_id: ToolCallId
    position: int
    user_id: UserId
    tool: str
    arguments: Mapping[str, object]
    outcome: ActionOutcome | None
    result: Mapping[str, object] = field(default_factory=dict)
    duration_ms: int | None = None
    target: str | None = None
    operation: str | None = None
    applied_record: str | None = None
    edited: bool | None = None
    at: datetime

    @property
    def place(self) -> ActivityPlace:
        """Where a page that ends with this row ended."""
        return ActivityPlace(at=self.at, run_id=self.run_id, position=self.position)


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRecord:
    """A stage of a draft, as its creator's doing; `edited` is known from the acceptance on."""

    draft_id: DraftId
    run_id: RunId
    conversation_id: ConversationId
    stage: DraftStage
    target: str
    operation: str
    at: datetime
    applied_record: str | None = None
    edited: bool | None = None

    @property
    def outcome(self) -> ActionOutcome:
        """How the audit counts it: a rejected draft was refused, by a person."""
        if self.stage == "rejected":
            return "refused"
        return "error" if self.stage in ("failed", "unknown") else "ok"


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Fatigue:
    """Whether an organisation still reads what it accepts; it is told to people and stops nothing.

    Attributes:
        accepted: drafts in the window of 30 days; `unedited` of them as they were proposed.
    """

    accepted: int
    unedited: int

    @property
    def is_sufficient(self) -> bool:
        """Whether there is enough to judge by."""
        return self.accepted >= LEAST_ACCEPTED

    @property
    def unedited_pct(self) -> float | None:
        """How many of a hundred were accepted without an edit; None while there is too little to judge by."""
        return 100 * self.unedited / self.accepted if self.is_sufficient else None

    @property
    def is_flagged(self) -> bool:
        """Whether so many are accepted unread that somebody should look."""
        return self.is_sufficient and 100 * self.unedited >= FLAGGED_PCT * self.accepted

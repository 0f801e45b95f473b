"""What an organisation's assistants did: one row a tool call, without anybody's words."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from equerry.kernel.identifiers import RunId, ToolCallId, UserId
from equerry.kernel.kinds import record, value

RETENTION_DAYS = 730
"""How long the audit keeps a row."""

ActivityOutcome = Literal["ok", "error"]


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
    outcome: ActivityOutcome | None = None


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityRow:
    """One tool call; `position` is its place in its run, from 0."""

    run_id: RunId
    call_id: ToolCallId
    position: int
    user_id: UserId
    tool: str
    arguments: Mapping[str, object]
    outcome: ActivityOutcome
    summary: str | None
    duration_ms: int
    at: datetime

    @property
    def place(self) -> ActivityPlace:
        """Where a page that ends with this row ended."""
        return ActivityPlace(at=self.at, run_id=self.run_id, position=self.position)

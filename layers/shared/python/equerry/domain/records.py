"""The record of a run: what it was made of, did and cost, and never anybody's words."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from equerry.channel.events import ExecutionMode, StopReason
from equerry.domain.conversations import RunStatus
from equerry.domain.steps import ToolStep
from equerry.engine.model_choice import ModelChoice
from equerry.kernel.identifiers import ConversationId, RunId, UserId
from equerry.kernel.kinds import record, value
from equerry.kernel.usage import Usage


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecord:
    """What one turn used, for whoever accounts for it.

    Attributes:
        complete: False when a round broke off whose tokens no provider reported.
        cost_usd: None for a model nobody has priced; `priced_on` is the day of the price.
        passages, characters: what was retrieved for it.
    """

    task_class: str
    model: ModelChoice | None
    usage: Usage
    complete: bool
    cost_usd: Decimal | None
    priced_on: date | None
    tool_calls: int
    passages: int
    characters: int


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """All that is kept of how a run went.

    Attributes:
        attempts: how many workers began it.
        composition: instructions, tools and limits it began with; empty for a run no worker took.
        outcome: rounds and verification; empty until it has ended, or where its worker died.
        deliveries: what became of its envelopes; None where its worker died before it could tell.
        usage: None until it has ended.
    """

    run_id: RunId
    conversation_id: ConversationId
    user_id: UserId
    profile: str
    surface: str | None
    mode: ExecutionMode
    mode_reason: str
    status: RunStatus
    trace_id: str | None
    attempts: int
    created_at: datetime
    started_at: datetime | None
    first_text_at: datetime | None
    ended_at: datetime | None
    stop_reason: StopReason | None
    error_code: str | None
    composition: Mapping[str, object]
    outcome: Mapping[str, object]
    deliveries: Mapping[str, object] | None
    steps: tuple[ToolStep, ...]
    usage: UsageRecord | None

    @property
    def place(self) -> "RecordPlace":
        """Where a page that ends with this record ended."""
        return RecordPlace(at=self.created_at, run_id=self.run_id)


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPlace:
    """Where a page of records ended: those after it are older."""

    at: datetime
    run_id: RunId


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Which runs an incident is about; `since` is inclusive, `before` exclusive, all must hold."""

    since: datetime | None = None
    before: datetime | None = None
    profile: str | None = None
    run_ids: tuple[RunId, ...] = ()

"""The JSON of run records: structure alone, whoever asks."""

from datetime import date, datetime

from equerry.channel.events import ExecutionMode, StopReason
from equerry.domain.conversations import RunStatus
from equerry.domain.inspection import ToolState
from equerry.domain.steps import ActionOutcome
from equerry.surfaces.http.models import ModelAnswer, UsageAnswer
from equerry.surfaces.http.wire import WireModel


class StepRecordAnswer(WireModel):
    """A tool call; texts among its arguments are given by their length alone.

    `outcome` is null for a call that never reported how it ended. `decisions` are ids, counts and scores.
    """

    position: int
    tool_call_id: str
    tool: str
    label: str
    arguments: dict[str, object]
    outcome: ActionOutcome | None
    failure: str | None
    result_summary: dict[str, object]
    decisions: dict[str, object]
    model_id: str | None
    started_at: datetime
    finished_at: datetime | None
    duration_ms: int | None


class TurnUsageAnswer(WireModel):
    """What the turn used; `routingClass` is what its model was chosen by.

    `complete` is false when a round broke off, `costUsd` null for a model without a listed price.
    """

    routing_class: str
    model: ModelAnswer | None
    tokens: UsageAnswer
    complete: bool
    cost_usd: float | None
    priced_on: date | None
    tool_calls: int
    passages_retrieved: int
    characters_retrieved: int


class ToolInspectionAnswer(WireModel):
    """A tool of the turn; `reason` says why one was withheld, `unknown` is one that nobody offered."""

    name: str
    state: ToolState
    reason: str | None
    calls: int


class GroundingAnswer(WireModel):
    """A passage in the turn; `source` is the tool or `fast_path`, `cited` null where nobody can tell."""

    passage_id: str
    document_id: str
    corpus_id: str | None
    version: int | None
    score: float | None
    source: str
    position: int | None
    retrieved_at: datetime | None
    cited: bool | None


class InspectionAnswer(WireModel):
    """What the turn had and what it used, as recorded.

    `blocks` are in the order in which they were composed; `corpora` is null for all the person may read.
    """

    blocks: list[dict[str, object]]
    tools: list[ToolInspectionAnswer]
    corpora: list[str] | None
    searched: list[str]
    grounding: list[GroundingAnswer]


class RunRecordAnswer(WireModel):
    """How a run went, without a word of what was said; times are in UTC."""

    run_id: str
    conversation_id: str
    user_id: str
    organisation_id: str
    profile: str
    surface: str | None
    mode: ExecutionMode
    mode_reason: str
    status: RunStatus
    attempts: int
    trace_id: str | None
    queued_at: datetime
    started_at: datetime | None
    first_text_at: datetime | None
    ended_at: datetime | None
    stop_reason: StopReason | None
    error_code: str | None
    composition: dict[str, object]
    outcome: dict[str, object]
    inspection: InspectionAnswer
    steps: list[StepRecordAnswer]
    deliveries: dict[str, object] | None
    usage: TurnUsageAnswer | None


class RunRecordList(WireModel):
    """Newest first; ask again with `cursor` while there is one."""

    records: list[RunRecordAnswer]
    cursor: str | None

"""The JSON of the API, camelCase, from which the contract's schemas are made."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from equerry.channel.events import ExecutionMode, StopReason
from equerry.domain.conversations import ConversationState, InteractionBucket, RunStatus
from equerry.domain.corpora import DocumentStatus
from equerry.domain.steps import ActionOutcome, StepState
from equerry.surfaces.http.turn_models import ContextRequest, SurfaceName
from equerry.surfaces.http.wire import WireModel


class ContextAnswer(WireModel):
    """What a page said about itself; `ids` by name, those found in the route among them."""

    route: str | None
    ids: dict[str, str]


class ConversationRequest(WireModel):
    """Open a conversation; `surface` is where in your product, `about` your name for what it concerns."""

    profile: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    title: Annotated[str, Field(max_length=500)] | None = None
    surface: SurfaceName | None = None
    about: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    context: ContextRequest | None = None


class ConversationAnswer(WireModel):
    """A conversation without its messages."""

    conversation_id: str
    title: str
    profile: str
    surface: str
    about: str | None
    state: ConversationState
    context: ContextAnswer | None
    created_at: datetime
    updated_at: datetime


class ConversationList(WireModel):
    """Last changed first; ask again with `cursor` while there is one."""

    conversations: list[ConversationAnswer]
    cursor: str | None


class CitationAnswer(WireModel):
    """A verified source; `n` is the number in the text's markers ⟦n⟧."""

    n: int
    passage_id: str
    document_id: str
    title: str
    heading_path: list[str]
    quote: str
    source_path: str


class StepAnswer(WireModel):
    """A tool call; one that is `unreported` has not said that it completed, and may never.

    `summary` is one plain sentence; null shows the label alone.
    """

    tool_call_id: str
    tool: str
    label: str
    state: StepState
    summary: str | None


class MessageAnswer(WireModel):
    """What was said; an answer has its run's tool calls, a question those of a run that left no answer."""

    message_id: str
    role: Literal["user", "assistant"]
    text: str
    citations: list[CitationAnswer]
    steps: list[StepAnswer]
    run_id: str
    created_at: datetime


class TranscriptAnswer(ConversationAnswer):
    """A conversation with its latest messages, oldest first."""

    active_run_id: str | None
    messages: list[MessageAnswer]


class UsageAnswer(WireModel):
    """Tokens; input includes what was cached."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int


class ModelAnswer(WireModel):
    """Which model served the run."""

    provider: str
    model: str


class RunMessage(WireModel):
    """The run's answer."""

    message_id: str
    text: str
    citations: list[CitationAnswer]


class RunFailure(WireModel):
    """Why the run failed."""

    code: str
    message: str


class RunAnswer(WireModel):
    """A run's state."""

    run_id: str
    conversation_id: str
    status: RunStatus
    stop_reason: StopReason | None
    usage: UsageAnswer
    mode: ExecutionMode
    mode_reason: str
    profile: str
    profile_version: str | None
    model: ModelAnswer | None
    message: RunMessage | None
    error: RunFailure | None
    last_seq: int


class CancelAnswer(WireModel):
    """The run has been asked to stop, or had ended."""

    run_id: str
    status: RunStatus


class PayloadRefAnswer(WireModel):
    """The artifact of the conversation that holds a payload too large for an envelope."""

    artifact_id: str
    size_bytes: int


class EnvelopeAnswer(WireModel):
    """One event of a run; with `payloadRef`, its payload is empty and is fetched as an artifact."""

    v: int
    type: str
    run_id: str
    conversation_id: str
    seq: int
    at: str
    payload: dict[str, object]
    payload_ref: Annotated[PayloadRefAnswer | None, Field(exclude_if=lambda ref: ref is None)] = None


class GapAnswer(WireModel):
    """The log has forgotten what follows `after`; `next` is the first it still has."""

    after: int
    next: int


class ReplayAnswer(WireModel):
    """A stretch of a run's events, in order."""

    envelopes: list[EnvelopeAnswer]
    gap: GapAnswer | None
    ended: bool
    has_more: bool


class TicketAnswer(WireModel):
    """A one-use way into the socket."""

    ticket: str
    web_socket_url: str
    expires_at: datetime


class PassageAnswer(WireModel):
    """A passage as it was cited."""

    passage_id: str
    document_id: str
    corpus_id: str
    title: str
    heading_path: list[str]
    text: str
    source_path: str
    version: int


class CorpusAnswer(WireModel):
    """A corpus as the caller sees it."""

    corpus_id: str
    documents: int
    passages: int
    pending: int
    failed: int
    updated_at: datetime


class CorpusList(WireModel):
    """By id."""

    corpora: list[CorpusAnswer]


class FileRequest(WireModel):
    """A file about to be uploaded."""

    path: Annotated[str, Field(min_length=1, max_length=1024)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size_bytes: Annotated[int, Field(ge=1, le=25_000_000)]
    visible_to: Annotated[list[str], Field(max_length=50)] | None = None


class UploadRequest(WireModel):
    """Announce files; at most 200 a call."""

    files: Annotated[list[FileRequest], Field(min_length=1, max_length=200)]


class UploadAnswer(WireModel):
    """What to do with one announced file: PUT its bytes to `url` with exactly `headers`, or nothing."""

    path: str
    document_id: str
    action: Literal["upload", "unchanged"]
    url: str | None = None
    headers: dict[str, str] | None = None


class UploadList(WireModel):
    """In the order of the files announced."""

    uploads: list[UploadAnswer]


class DocumentAnswer(WireModel):
    """A document's state."""

    document_id: str
    path: str
    title: str
    status: DocumentStatus
    reason: str | None
    version: int
    passages: int
    embedded: int
    sha256: str
    updated_at: datetime


class DocumentList(WireModel):
    """By path; ask again with `cursor` while there is one."""

    documents: list[DocumentAnswer]
    cursor: str | None


class ArtifactAnswer(WireModel):
    """An artifact's record."""

    artifact_id: str
    run_id: str
    kind: str
    title: str
    size_bytes: int
    created_at: datetime


class ArtifactList(WireModel):
    """Oldest first."""

    artifacts: list[ArtifactAnswer]


InteractionName = Annotated[str, Field(max_length=64)]
InteractionText = Annotated[str, Field(max_length=1_000)]


class InteractionRequest(WireModel):
    """Something a person or their page did."""

    kind: Annotated[str, Field(min_length=1, max_length=64)]
    bucket: InteractionBucket = "interacted"
    run_id: str | None = None
    about: Annotated[str, Field(pattern=r"^[!-~]{1,128}$")] | None = None
    data: Annotated[
        dict[InteractionName, InteractionText | int | float | bool | None], Field(max_length=20)
    ] = Field(default={})


class ActivityRowAnswer(WireModel):
    """One action; texts among its arguments are given by their length alone.

    `outcome` is null for a call that never reported how it ended. The last four are of a draft alone.
    """

    run_id: str
    tool_call_id: str
    user_id: str
    tool: str
    arguments: dict[str, object]
    outcome: ActionOutcome | None
    result_summary: dict[str, object]
    duration_ms: int | None
    at: datetime
    target: str | None
    operation: str | None
    applied_record: str | None
    edited: bool | None


class ActivityAnswer(WireModel):
    """Newest first; ask again with `cursor` while there is one."""

    rows: list[ActivityRowAnswer]
    cursor: str | None
    retention_days: int


class FatigueAnswer(WireModel):
    """Accepted drafts of the last `windowDays`; `uneditedPct` is null while there are too few to judge by."""

    window_days: int
    accepted: int
    unedited: int
    unedited_pct: float | None
    sufficient_data: bool
    flagged: bool


class HealthAnswer(WireModel):
    """The entry points answer."""

    status: Literal["ok"]


class VersionAnswer(WireModel):
    """What is running."""

    version: str
    commit: str
    lambda_version: str


class ConfigAnswer(WireModel):
    """What a page needs to know before it has a token, and the other two once it has one."""

    contract_version: int
    default_profile: str
    enabled: bool
    organisation_enabled: bool | None = None
    profile_enabled: bool | None = None

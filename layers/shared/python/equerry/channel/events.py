"""Every event a run can publish: the one declaration, from which the client's types are made.

A field is `snake_case` here and `camelCase` on the wire; one whose value is None is left out.
Adding a type or an optional field keeps `CONTRACT_VERSION`; anything else raises it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from equerry.kernel.identifiers import ArtifactId, DocumentId, DraftId, MessageId, PassageId, ToolCallId
from equerry.kernel.kinds import message
from equerry.kernel.usage import Usage

CONTRACT_VERSION = 1

Stage = Literal["queued", "composing", "retrieving", "answering", "verifying"]
ExecutionMode = Literal["queued", "inline"]
StopReason = Literal[
    "end_turn",
    "max_rounds",
    "max_tool_calls",
    "max_tokens",
    "deadline",
    "refusal",
    "cancelled",
    "interrupted",
    "error",
]


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class CitationRef:
    """A source of the answer; `n` is the number inside its markers `⟦n⟧`, from 1 in order of appearance."""

    n: int
    passage_id: PassageId
    document_id: DocumentId
    title: str
    heading_path: tuple[str, ...]
    quote: str
    source_path: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The run exists; always its first event."""

    user_message_id: MessageId
    assistant_message_id: MessageId
    mode: ExecutionMode


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the run is doing now; `label` is ready to be shown."""

    stage: Stage
    label: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A chunk of the answer's text; never empty."""

    delta: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """What was being written is begun anew: of the answer's text so far, only `text` stands."""

    text: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStart:
    """A tool call begins."""

    tool_call_id: ToolCallId
    tool: str
    label: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnd:
    """A tool call completed or failed."""

    tool_call_id: ToolCallId
    ok: bool
    summary: str | None = None


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class UiAction:
    """Something for the page to do; `details` are spread beside `action` on the wire."""

    action: Literal["navigate", "draft_review"]
    details: Mapping[str, object] = field(default_factory=dict)


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Citations:
    """The verified sources of the answer, in order of `n`."""

    message_id: MessageId
    refs: tuple[CitationRef, ...]


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePersisted:
    """A message is in the transcript; anchors its citations."""

    message_id: MessageId
    role: Literal["user", "assistant"]


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactReady:
    """An artifact of this run can be fetched."""

    artifact_id: ArtifactId
    kind: str
    title: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalReady:
    """A draft waits for the person's yes."""

    draft_id: DraftId
    kind: str
    title: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Something the person could ask next."""

    suggestion_id: str
    text: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuationClaimed:
    """This run continues an accepted draft; emitted once, before any model call."""

    draft_id: DraftId


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class RunError:
    """The run failed; `done` follows."""

    code: str
    message: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The only terminal event, and the last of its run."""

    stop_reason: StopReason
    usage: Usage


Event = (
    Accepted
    | Step
    | Token
    | Restart
    | ToolStart
    | ToolEnd
    | UiAction
    | Citations
    | MessagePersisted
    | ArtifactReady
    | ProposalReady
    | Suggestion
    | ContinuationClaimed
    | RunError
    | Done
)

EVENT_TYPES: Mapping[str, type[Event]] = {
    "accepted": Accepted,
    "step": Step,
    "token": Token,
    "restart": Restart,
    "tool_start": ToolStart,
    "tool_end": ToolEnd,
    "ui_action": UiAction,
    "citations": Citations,
    "message": MessagePersisted,
    "artifact": ArtifactReady,
    "proposal": ProposalReady,
    "suggestion": Suggestion,
    "continuation_claimed": ContinuationClaimed,
    "error": RunError,
    "done": Done,
}
"""The declared vocabulary: name on the wire, payload."""

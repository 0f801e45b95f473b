"""Conversations, their messages and the runs that answer them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from equerry.channel.events import Accepted, CitationRef, ExecutionMode, StopReason
from equerry.domain.pricing import Cost
from equerry.domain.profiles import DEFAULT_SURFACE
from equerry.domain.steps import ShownStep, ToolStep
from equerry.domain.turn_context import TurnContext
from equerry.engine.model_choice import ModelChoice
from equerry.kernel.errors import Conflict
from equerry.kernel.identifiers import ConversationId, MessageId, ProjectId, RunId
from equerry.kernel.kinds import entity, record, value
from equerry.kernel.text import shorten_text
from equerry.kernel.usage import Usage

RunStatus = Literal["queued", "running", "ended"]
ConversationState = Literal["active", "archived"]
InteractionBucket = Literal["viewed", "applied", "submitted", "interacted"]
"""How somebody met a feature; interacted is anything else, such as what is opened again and again."""


@entity
@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation; only its creator reads it.

    Attributes:
        surface: where in the product it stands.
        about: what it concerns, as the product refers to it.
        state: an archived one is not listed and takes no question; it can still be read.
        context: what the page said last about itself.
    """

    conversation_id: ConversationId
    profile: str
    title: str
    created_at: datetime
    updated_at: datetime
    surface: str = DEFAULT_SURFACE
    about: str | None = None
    state: ConversationState = "active"
    context: TurnContext | None = None

    @property
    def place(self) -> "ConversationPlace":
        """Where it stands in the list."""
        return ConversationPlace(updated_at=self.updated_at, conversation_id=self.conversation_id)

    def require_active(self) -> None:
        """Raise ConversationArchived if it takes no questions any more."""
        if self.state != "active":
            raise ConversationArchived


class ConversationArchived(Conflict):
    """The conversation has been put away."""

    code = "conversation_archived"
    retryable = False

    def __init__(self) -> None:
        super().__init__("this conversation is archived; ask in another one")


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPlace:
    """A conversation's place in the list, last changed first; equal times go by the higher id."""

    updated_at: datetime
    conversation_id: ConversationId


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptMessage:
    """A message that was said, final.

    Attributes:
        text: may hold citation markers that `citations` resolves.
        context: what the page said about itself, with a question.
        steps: the tool calls behind an answer, in order; a question has those of a run that left no answer.
    """

    message_id: MessageId
    role: Literal["user", "assistant"]
    text: str
    run_id: RunId
    created_at: datetime
    citations: tuple[CitationRef, ...] = ()
    context: TurnContext | None = None
    steps: tuple[ShownStep, ...] = ()


@entity
@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One turn's execution, from its acceptance to its one end.

    Attributes:
        provider_started: a request has gone to a model; from here a redelivery never repeats it.
        mode_reason: why this mode was chosen, for whoever explains the run.
        last_seq: of its last envelope, 0 until it ends.
    """

    run_id: RunId
    conversation_id: ConversationId
    user_message_id: MessageId
    assistant_message_id: MessageId
    profile: str
    mode: ExecutionMode
    mode_reason: str
    created_at: datetime
    status: RunStatus = "queued"
    provider_started: bool = False
    profile_version: str | None = None
    model: ModelChoice | None = None
    stop_reason: StopReason | None = None
    error_code: str | None = None
    error_message: str | None = None
    usage: Usage = field(default_factory=Usage)
    last_seq: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How a run ended: all that its last transaction writes.

    Attributes:
        text: the answer, possibly partial; blank when nothing was said, and then no message is kept.
        passages_retrieved: what the run had in its context, so that a complaint can be traced.
        actions: its tool calls, in order; those that are kept already are left as they are.
        outcome: what its record says of how it went, see `RunRecord`.
        complete: False when a round broke off whose tokens no provider reported.
        cost: of `usage`; None for a model nobody has priced.
        model: which wrote the last of it, if not the one that was wanted.
        project_ids: whose content the run was given, whatever it made of it.
    """

    stop_reason: StopReason
    usage: Usage
    last_seq: int
    ended_at: datetime
    text: str = ""
    citations: tuple[CitationRef, ...] = ()
    citations_removed: int = 0
    passages_retrieved: tuple[str, ...] = ()
    actions: tuple[ToolStep, ...] = ()
    error_code: str | None = None
    error_message: str | None = None
    first_text_at: datetime | None = None
    outcome: Mapping[str, object] = field(default_factory=dict)
    complete: bool = True
    cost: Cost | None = None
    model: ModelChoice | None = None
    project_ids: tuple[ProjectId, ...] = ()


def derive_title(question: str) -> str:
    """Return the title of a conversation that has none, from its first question; at most 80 characters."""
    return shorten_text(question, limit=80)


def place_steps(messages: Sequence[TranscriptMessage]) -> tuple[TranscriptMessage, ...]:
    """Return the messages with each run's steps once: with its answer, else with its question."""
    answered = {message.run_id for message in messages if message.role == "assistant"}
    return tuple(
        replace(message, steps=()) if message.role == "user" and message.run_id in answered else message
        for message in messages
    )


def accept_run(run: Run) -> Accepted:
    """Return a run's first event."""
    return Accepted(
        user_message_id=run.user_message_id,
        assistant_message_id=run.assistant_message_id,
        mode=run.mode,
    )

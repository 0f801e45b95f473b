"""Conversations as their creator sees them, and what people do with the answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from equerry.domain.conversations import Conversation, TranscriptMessage
from equerry.domain.principal import Scope
from equerry.kernel.clock import Clock
from equerry.kernel.errors import InvalidInput, NotFound
from equerry.kernel.identifiers import ConversationId, NewIdentifier, RunId
from equerry.kernel.kinds import result
from equerry.kernel.text import shorten_text
from equerry.ports.interactions import ArtifactPort, ArtifactSummary, Interaction, InteractionPort
from equerry.ports.leases import LeasePort
from equerry.ports.profiles import ProfilePort
from equerry.ports.transcripts import RunPort, TranscriptPort
from equerry.services.recovery import RecoveryService

MESSAGES_SHOWN = 200
CONVERSATIONS_SHOWN = 100
MAX_TITLE_CHARS = 120
_MAX_KIND_CHARS = 64
_MAX_DETAILS = 20


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView:
    """A conversation with its latest messages, oldest first, and the run that is answering now."""

    conversation: Conversation
    messages: tuple[TranscriptMessage, ...]
    active_run_id: RunId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationService:
    """Opens and shows conversations."""

    transcripts: TranscriptPort
    runs: RunPort
    interactions: InteractionPort
    artifacts: ArtifactPort
    profiles: ProfilePort
    leases: LeasePort
    recovery: RecoveryService
    default_profile: str
    clock: Clock
    new_id: NewIdentifier

    def create(self, scope: Scope, *, profile: str | None = None, title: str | None = None) -> Conversation:
        """Open a conversation with a profile; without a title it takes one from the first question.

        Raises:
            UnknownProfile: no such profile is installed.
        """
        now = self.clock.now()
        conversation = Conversation(
            conversation_id=ConversationId(self.new_id()),
            profile=self.profiles.fetch_profile(profile or self.default_profile).name,
            title=shorten_text(title, limit=MAX_TITLE_CHARS) if title and title.strip() else "",
            created_at=now,
            updated_at=now,
        )
        self.transcripts.create_conversation(scope, conversation)
        return conversation

    def list_recent(self, scope: Scope) -> tuple[Conversation, ...]:
        """Return the scope's conversations, last changed first, at most 100."""
        return self.transcripts.list_conversations(scope, limit=CONVERSATIONS_SHOWN)

    def fetch_view(self, scope: Scope, conversation_id: ConversationId) -> ConversationView:
        """Return a conversation and its last 200 messages; NotFound if it is not the scope's."""
        conversation = self.transcripts.fetch_conversation(scope, conversation_id)
        # The lease before the messages: a run that ends in between shows its answer, never neither.
        lease = self.leases.find_lease(conversation_id)
        messages = self.transcripts.list_messages(scope, conversation_id, limit=MESSAGES_SHOWN)
        if lease is None and messages and messages[-1].role == "user":
            self._settle(scope, messages[-1].run_id)
        return ConversationView(
            conversation=conversation,
            messages=messages,
            active_run_id=lease.run_id if lease else None,
        )

    def _settle(self, scope: Scope, run_id: RunId) -> None:
        """See that a question without an answer and without a lease does not wait for ever."""
        self.recovery.settle_orphan(scope, self.runs.fetch_run(scope, run_id))

    def list_artifacts(self, scope: Scope, conversation_id: ConversationId) -> tuple[ArtifactSummary, ...]:
        """Return a conversation's artifacts; NotFound if it is not the scope's."""
        return self.artifacts.list_artifacts(scope, conversation_id)

    def record_interaction(
        self,
        scope: Scope,
        conversation_id: ConversationId,
        *,
        kind: str,
        run_id: RunId | None,
        details: Mapping[str, object],
    ) -> None:
        """Keep what a person or their page did.

        Raises:
            InvalidInput: `kind` or `details` is too large for an event.
            NotFound: the conversation is not the scope's, or the run is not the conversation's.
        """
        if not 0 < len(kind) <= _MAX_KIND_CHARS:
            raise InvalidInput(f"kind must be 1 to {_MAX_KIND_CHARS} characters", field="kind")
        if len(details) > _MAX_DETAILS:
            raise InvalidInput(f"details must have at most {_MAX_DETAILS} entries", field="details")
        if run_id is not None and self.runs.fetch_run(scope, run_id).conversation_id != conversation_id:
            raise NotFound("there is no such run")
        self.interactions.record_interaction(
            scope,
            Interaction(
                interaction_id=self.new_id(),
                conversation_id=conversation_id,
                run_id=run_id,
                kind=kind,
                details=details,
                at=self.clock.now(),
            ),
        )

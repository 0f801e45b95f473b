"""Conversations as their creator sees them, and what people do with the answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from equerry.domain.conversations import Conversation, ConversationPlace, InteractionBucket, TranscriptMessage
from equerry.domain.leases import Lease
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Scope
from equerry.domain.profiles import DEFAULT_SURFACE
from equerry.domain.tenancy import Tenancy
from equerry.domain.turn_context import TurnContext, derive_context
from equerry.kernel.clock import Clock
from equerry.kernel.errors import InvalidInput, NotFound
from equerry.kernel.identifiers import ConversationId, NewIdentifier, RunId
from equerry.kernel.kinds import result
from equerry.kernel.text import shorten_text
from equerry.ports.interactions import ArtifactPort, ArtifactSummary, Interaction, InteractionPort
from equerry.ports.leases import LeasePort
from equerry.ports.profiles import ProfilePort
from equerry.ports.tenancies import TenancyPort
from equerry.ports.transcripts import RunPort, TranscriptPort
from equerry.services.recovery import RecoveryService
from equerry.services.stopping import StoppingService

MESSAGES_SHOWN = 200
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


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPage:
    """Some of a person's conversations; `last` is where the next page begins, if there is one."""

    conversations: tuple[Conversation, ...]
    last: ConversationPlace | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationService:
    """Opens, shows and puts away conversations.

    Attributes:
        unlisted: the standing of an organisation of which nobody has said anything.
    """

    transcripts: TranscriptPort
    runs: RunPort
    interactions: InteractionPort
    artifacts: ArtifactPort
    profiles: ProfilePort
    leases: LeasePort
    recovery: RecoveryService
    stops: StoppingService
    tenancies: TenancyPort
    unlisted: Tenancy
    limits: TurnLimits
    default_profile: str
    clock: Clock
    new_id: NewIdentifier

    def create(
        self,
        scope: Scope,
        *,
        profile: str | None = None,
        title: str | None = None,
        surface: str | None = None,
        about: str | None = None,
        context: TurnContext | None = None,
    ) -> Conversation:
        """Open a conversation with a profile; without a title it takes one from the first question.

        Args:
            surface: where in the product it stands.
            about: what it concerns, as the product refers to it.
            context: what the page says about itself.

        Raises, in this order:
            AssistantNotEnabled: the organisation does not have the assistant.
            UnknownProfile: no such profile is installed.
            SurfaceNotAllowed: not for this organisation, or this person, there.
            TooLarge: the context is longer than the limit.
            Unavailable: nobody can say, so nothing was opened.
        """
        tenancy = self.tenancies.find_tenancy(scope) or self.unlisted
        tenancy.require_enabled()
        now = self.clock.now()
        found = self.profiles.fetch_profile(profile or self.default_profile)
        conversation = Conversation(
            conversation_id=ConversationId(self.new_id()),
            profile=found.name,
            title=shorten_text(title, limit=MAX_TITLE_CHARS) if title and title.strip() else "",
            created_at=now,
            updated_at=now,
            surface=surface or DEFAULT_SURFACE,
            about=about,
            context=None if context is None else derive_context(context, found.routes),
        )
        tenancy.require_surface(conversation.surface)
        tenancy.require_profile(found, conversation.surface, scope.role)
        if context is not None:
            context.require_size(self.limits.message_chars)
        self.transcripts.create_conversation(scope, conversation)
        return conversation

    def show_active(
        self, scope: Scope, *, limit: int, after: ConversationPlace | None = None
    ) -> ConversationPage:
        """Return the scope's conversations that are not archived, last changed first.

        One that changes while somebody pages moves to the front: it comes once at most.
        """
        # One more than shown tells whether there is another page.
        found = self.transcripts.list_conversations(scope, limit=limit + 1, after=after)
        shown = found[:limit]
        return ConversationPage(conversations=shown, last=shown[-1].place if len(found) > limit else None)

    def archive(self, scope: Scope, conversation_id: ConversationId) -> None:
        """Put a conversation away: unlisted, closed to questions, still readable. Its run is told to stop.

        Raises:
            NotFound: it is not the scope's.
        """
        self.transcripts.archive_conversation(scope, conversation_id)
        self.stops.stop_live(scope, conversation_id)

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
            active_run_id=lease.run_id if lease and _is_written(lease, messages) else None,
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
        bucket: InteractionBucket = "interacted",
        about: str | None = None,
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
                bucket=bucket,
                about=about,
                details=details,
                at=self.clock.now(),
            ),
        )


def _is_written(lease: Lease, messages: tuple[TranscriptMessage, ...]) -> bool:
    """Whether a lease's run began; it has its lease first, and no run if its entry point died in between."""
    return any(message.run_id == lease.run_id for message in messages)

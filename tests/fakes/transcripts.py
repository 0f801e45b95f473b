"""Transcripts, runs, interactions and artifacts in memory, with the same rules as the database."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import RLock

from equerry.domain.activity import ActivityRow
from equerry.domain.admission import Admission
from equerry.domain.conversations import (
    Conversation,
    ConversationArchived,
    ConversationPlace,
    Run,
    RunEnd,
    TranscriptMessage,
    derive_title,
    place_steps,
)
from equerry.domain.intents import AUDITED_AS, AUDITED_AT, Classification
from equerry.domain.leases import Lease
from equerry.domain.opening import OpenedTurn, OpenTurn, Premises
from equerry.domain.principal import Scope
from equerry.domain.steps import ToolStep
from equerry.engine.model import ModelChoice
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ArtifactId, ConversationId, ProjectId, RunId, ToolCallId
from equerry.ports.directory import DirectoryPort
from equerry.ports.interactions import ArtifactSummary, Interaction

from tests.fakes.run_keeping import MemoryRunKeeping, Owner
from tests.fakes.tenancies import MemoryTenancyAdapter


@dataclass
class MemoryTranscripts(MemoryRunKeeping):
    """What the adapters below share, as the tables of one database would be.

    Without a directory, people belong to the projects that their scope names.
    """

    conversations: dict[ConversationId, tuple[Owner, Conversation]] = field(default_factory=dict)
    messages: dict[ConversationId, list[TranscriptMessage]] = field(default_factory=dict)
    runs: dict[RunId, Run] = field(default_factory=dict)
    classifications: dict[RunId, Classification] = field(default_factory=dict)
    passages_retrieved: dict[RunId, tuple[str, ...]] = field(default_factory=dict)
    interactions: dict[str, Interaction] = field(default_factory=dict)
    artifacts: dict[ArtifactId, tuple[ConversationId, ArtifactSummary]] = field(default_factory=dict)
    tenancies: MemoryTenancyAdapter = field(default_factory=MemoryTenancyAdapter)
    projects: dict[ConversationId, frozenset[ProjectId]] = field(default_factory=dict)
    directory: DirectoryPort | None = None
    lock: RLock = field(default_factory=RLock)

    def may_enter(self, scope: Scope, conversation_id: ConversationId) -> bool:
        """Whether the scope's person belongs to all projects that the conversation holds content of."""
        held = self.directory.list_projects(scope) if self.directory else scope.project_ids
        return self.projects.get(conversation_id, frozenset()) <= set(held)

    def fetch(self, scope: Scope, conversation_id: ConversationId, *, keeps: bool = False) -> Conversation:
        may_enter = keeps or self.may_enter(scope, conversation_id)
        owner, conversation = self.conversations.get(conversation_id, (None, None))
        if conversation is None or owner != _owner(scope) or not may_enter:
            raise NotFound("there is no such conversation")
        return conversation

    def fetch_run(self, scope: Scope, run_id: RunId, *, keeps: bool = False) -> Run:
        run = self.runs.get(run_id)
        if run is None or self.conversations[run.conversation_id][0] != _owner(scope):
            raise NotFound("there is no such run")
        if not (keeps or self.may_enter(scope, run.conversation_id)):
            raise NotFound("there is no such run")
        return run

    def mark_projects(self, conversation_id: ConversationId, project_ids: tuple[ProjectId, ...]) -> None:
        self.projects[conversation_id] = self.projects.get(conversation_id, frozenset()).union(project_ids)

    def audit_classification(self, scope: Scope, opened: OpenedTurn) -> None:
        taken, run = opened.classification, opened.run
        if taken is None:
            return
        self.classifications[run.run_id] = taken
        row = ActivityRow(
            run_id=run.run_id,
            call_id=ToolCallId(AUDITED_AS),
            position=AUDITED_AT,
            user_id=scope.user_id,
            tool=AUDITED_AS,
            arguments={},
            outcome=taken.outcome,
            result=taken.describe(),
            duration_ms=taken.duration_ms,
            at=run.created_at,
        )
        self.add_audit(scope.organisation_id, row)

    def owner_of(self, conversation_id: ConversationId) -> Owner:
        return self.conversations[conversation_id][0]

    def surface_of(self, conversation_id: ConversationId) -> str:
        return self.conversations[conversation_id][1].surface

    def keep_step(self, scope: Scope, run_id: RunId, step: ToolStep) -> None:
        """Keep a step of the scope's own live run, and of no other."""
        run = self.runs.get(run_id)
        if run is None or self.owner_of(run.conversation_id) != _owner(scope) or run.status == "ended":
            return
        self.merge_step(_owner(scope), run, step)

    def show_steps(self, message: TranscriptMessage) -> TranscriptMessage:
        kept = self.steps.get(message.run_id, {})
        return replace(message, steps=tuple(kept[at].show() for at in sorted(kept)))

    def touch(self, conversation: Conversation, at: datetime) -> None:
        owner, _ = self.conversations[conversation.conversation_id]
        touched = replace(conversation, updated_at=max(conversation.updated_at, at))
        self.conversations[conversation.conversation_id] = (owner, touched)


def let_begin(
    scope: Scope, run: Run, question: TranscriptMessage, classification: Classification | None = None
) -> OpenTurn:
    """Return a judgement that lets a turn begin, whatever is found."""
    lease = Lease(
        conversation_id=run.conversation_id, run_id=run.run_id, scope=scope, token=0, until=run.created_at
    )
    opened = OpenedTurn(
        run=run,
        question=question,
        admission=Admission(lease=lease, standings=()),
        classification=classification,
    )
    return lambda _premises: opened


def _owner(scope: Scope) -> Owner:
    return (scope.organisation_id, scope.user_id)


@dataclass(frozen=True)
class MemoryTranscriptAdapter:
    """TranscriptPort in memory."""

    store: MemoryTranscripts = field(default_factory=MemoryTranscripts)

    def create_conversation(self, scope: Scope, conversation: Conversation) -> None:
        self.store.conversations.setdefault(conversation.conversation_id, (_owner(scope), conversation))

    def list_conversations(
        self, scope: Scope, *, limit: int, after: ConversationPlace | None = None
    ) -> tuple[Conversation, ...]:
        with self.store.lock:
            mine = [
                kept
                for owner, kept in self.store.conversations.values()
                if owner == _owner(scope) and self.store.may_enter(scope, kept.conversation_id)
            ]
        places = {(kept.updated_at, kept.conversation_id): kept for kept in mine if kept.state == "active"}
        before = (after.updated_at, after.conversation_id) if after else None
        behind = sorted((place for place in places if before is None or place < before), reverse=True)
        return tuple(places[place] for place in behind[:limit])

    def archive_conversation(self, scope: Scope, conversation_id: ConversationId) -> None:
        with self.store.lock:
            conversation = self.store.fetch(scope, conversation_id)
            archived = replace(conversation, state="archived")
            self.store.conversations[conversation_id] = (_owner(scope), archived)

    def fetch_conversation(self, scope: Scope, conversation_id: ConversationId) -> Conversation:
        return self.store.fetch(scope, conversation_id)

    def list_messages(
        self, scope: Scope, conversation_id: ConversationId, *, limit: int
    ) -> tuple[TranscriptMessage, ...]:
        self.store.fetch(scope, conversation_id)
        listed = self.store.messages.get(conversation_id, [])[-limit:]
        return place_steps([self.store.show_steps(message) for message in listed])

    def append_turn(self, scope: Scope, conversation_id: ConversationId, open_turn: OpenTurn) -> OpenedTurn:
        opened = open_turn(self._read_premises(scope, conversation_id))
        run, question = opened.run, opened.question
        with self.store.lock:
            conversation = self.store.fetch(scope, conversation_id)
            if conversation.state != "active":
                raise ConversationArchived
            if run.run_id not in self.store.runs:
                self.store.runs[run.run_id] = replace(run, status="queued")
                self.store.audit_classification(scope, opened)
                self.store.begin_record(_owner(scope), run, conversation.surface)
                self.store.messages.setdefault(conversation_id, []).append(question)
            touched = replace(
                conversation,
                title=conversation.title or derive_title(question.text),
                context=question.context or conversation.context,
            )
            self.store.touch(touched, question.created_at)
        return opened

    def _read_premises(self, scope: Scope, conversation_id: ConversationId) -> Premises:
        tenancy = self.store.tenancies.find_tenancy(scope)
        try:
            return Premises(tenancy=tenancy, conversation=self.store.fetch(scope, conversation_id))
        except NotFound:
            return Premises(tenancy=tenancy, conversation=None)


@dataclass(frozen=True)
class MemoryRunAdapter:
    """RunPort in memory; `keeps` as in PostgreSQL."""

    store: MemoryTranscripts = field(default_factory=MemoryTranscripts)
    keeps: bool = False

    def fetch_run(self, scope: Scope, run_id: RunId) -> Run:
        return self.store.fetch_run(scope, run_id, keeps=self.keeps)

    def find_answer(self, scope: Scope, run_id: RunId) -> TranscriptMessage | None:
        try:
            run = self.fetch_run(scope, run_id)
        except NotFound:
            return None
        said = self.store.messages.get(run.conversation_id, [])
        wanted = (message for message in said if message.message_id == run.assistant_message_id)
        return next((self.store.show_steps(message) for message in wanted), None)

    def start_run(
        self,
        scope: Scope,
        run_id: RunId,
        *,
        profile_version: str,
        model: ModelChoice | None,
        composition: Mapping[str, object] | None = None,
        trace_id: str | None = None,
    ) -> None:
        run = self._find_live(scope, run_id)
        if run is None:
            return
        started = replace(
            run,
            status="running",
            profile_version=profile_version,
            model=model,
            started_at=run.started_at or datetime.now(UTC),
        )
        self.store.runs[run_id] = started
        record = self.store.begin_record(_owner(scope), run, self.store.surface_of(run.conversation_id))
        self.store.records[run_id] = replace(
            record,
            status="running",
            trace_id=trace_id,
            attempts=record.attempts + 1,
            composition=dict(composition or {}),
            started_at=started.started_at,
        )

    def mark_provider_started(self, scope: Scope, run_id: RunId) -> None:
        run = self._find_live(scope, run_id)
        if run:
            self.store.runs[run_id] = replace(run, provider_started=True)

    def mark_projects(self, scope: Scope, run_id: RunId, project_ids: tuple[ProjectId, ...]) -> None:
        run = self._find_live(scope, run_id)
        if run:
            self.store.mark_projects(run.conversation_id, project_ids)

    def end_run(self, scope: Scope, run_id: RunId, end: RunEnd) -> bool:
        with self.store.lock:
            run = self.fetch_run(scope, run_id)
            if run.status == "ended":
                return False
            self.store.mark_projects(run.conversation_id, end.project_ids)
            if end.text.strip():
                self.store.messages[run.conversation_id].append(_answer(run, end))
            for step in end.actions:
                self.store.keep_step(scope, run_id, step)
            self.store.audit_unreported(_owner(scope), run, end.ended_at)
            self.store.passages_retrieved[run_id] = end.passages_retrieved
            self.store.runs[run_id] = _ended(run, end)
            surface = self.store.surface_of(run.conversation_id)
            self.store.end_record(_owner(scope), self.store.runs[run_id], end, surface)
            self.store.touch(self.store.fetch(scope, run.conversation_id, keeps=True), end.ended_at)
            return True

    def _find_live(self, scope: Scope, run_id: RunId) -> Run | None:
        try:
            run = self.fetch_run(scope, run_id)
        except NotFound:
            return None
        return None if run.status == "ended" else run


@dataclass(frozen=True)
class MemoryInteractionAdapter:
    """InteractionPort in memory."""

    store: MemoryTranscripts = field(default_factory=MemoryTranscripts)

    def record_interaction(self, scope: Scope, interaction: Interaction) -> None:
        self.store.fetch(scope, interaction.conversation_id)
        self.store.interactions.setdefault(interaction.interaction_id, interaction)


@dataclass(frozen=True)
class MemoryArtifactAdapter:
    """ArtifactPort in memory."""

    store: MemoryTranscripts = field(default_factory=MemoryTranscripts)
    keeps: bool = False

    def record_artifact(
        self, scope: Scope, conversation_id: ConversationId, artifact: ArtifactSummary
    ) -> None:
        self.store.fetch(scope, conversation_id, keeps=self.keeps)
        self.store.artifacts.setdefault(artifact.artifact_id, (conversation_id, artifact))

    def list_artifacts(self, scope: Scope, conversation_id: ConversationId) -> tuple[ArtifactSummary, ...]:
        self.store.fetch(scope, conversation_id, keeps=self.keeps)
        kept = [record for home, record in self.store.artifacts.values() if home == conversation_id]
        return tuple(sorted(kept, key=lambda record: (record.created_at, record.artifact_id)))


def _answer(run: Run, end: RunEnd) -> TranscriptMessage:
    return TranscriptMessage(
        message_id=run.assistant_message_id,
        role="assistant",
        text=end.text,
        run_id=run.run_id,
        created_at=end.ended_at,
        citations=end.citations,
    )


def _ended(run: Run, end: RunEnd) -> Run:
    return replace(
        run,
        status="ended",
        stop_reason=end.stop_reason,
        usage=end.usage,
        last_seq=end.last_seq,
        error_code=end.error_code,
        error_message=end.error_message,
        ended_at=end.ended_at,
        model=end.model or run.model,
    )

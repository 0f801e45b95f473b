"""TranscriptPort, RunPort, InteractionPort and ArtifactPort: the same promises in memory and PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from equerry.adapters.postgres.interactions import PostgresArtifactAdapter, PostgresInteractionAdapter
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.channel.events import CitationRef
from equerry.domain.conversations import (
    Conversation,
    Run,
    RunEnd,
    TranscriptMessage,
)
from equerry.domain.principal import Scope
from equerry.engine.model import ModelChoice
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import (
    ArtifactId,
    ConversationId,
    DocumentId,
    MessageId,
    PassageId,
    RunId,
)
from equerry.kernel.usage import Usage
from equerry.ports.interactions import ArtifactPort, ArtifactSummary, Interaction, InteractionPort
from equerry.ports.transcripts import RunPort, TranscriptPort

from tests.contract.databases import build_scope, new_organisation
from tests.contract.steps import build_step
from tests.fakes.transcripts import (
    MemoryArtifactAdapter,
    MemoryInteractionAdapter,
    MemoryRunAdapter,
    MemoryTranscriptAdapter,
    MemoryTranscripts,
    let_begin,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODEL = ModelChoice(provider="embedded", model="extractive-1")


@dataclass(frozen=True)
class Store:
    transcripts: TranscriptPort
    runs: RunPort
    interactions: InteractionPort
    artifacts: ArtifactPort


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest) -> Store:
    if request.param == "memory":
        kept = MemoryTranscripts()
        return Store(
            MemoryTranscriptAdapter(kept),
            MemoryRunAdapter(kept),
            MemoryInteractionAdapter(kept),
            MemoryArtifactAdapter(kept),
        )
    connections = request.getfixturevalue("connections")
    return Store(
        PostgresTranscriptAdapter(connections),
        PostgresRunAdapter(connections),
        PostgresInteractionAdapter(connections),
        PostgresArtifactAdapter(connections),
    )


@pytest.fixture
def ada() -> Scope:
    return build_scope(new_organisation(), "ada")


def strangers_of(scope: Scope) -> list[Scope]:
    """A colleague, an administrator and the same person elsewhere: none may see what `scope` wrote."""
    return [
        build_scope(scope.organisation_id, "ben"),
        build_scope(scope.organisation_id, "root", role="admin"),
        build_scope(new_organisation(), scope.user_id, role="admin"),
    ]


def new_conversation(store: Store, scope: Scope, *, title: str = "", at: datetime = NOON) -> Conversation:
    conversation = Conversation(
        conversation_id=ConversationId(str(uuid4())),
        profile="docs",
        title=title,
        created_at=at,
        updated_at=at,
    )
    store.transcripts.create_conversation(scope, conversation)
    return conversation


def build_turn(
    conversation: Conversation, *, text: str = "How do I rotate a key?", at: datetime = NOON
) -> tuple[Run, TranscriptMessage]:
    run_id, question_id = RunId(str(uuid4())), MessageId(str(uuid4()))
    run = Run(
        run_id=run_id,
        conversation_id=conversation.conversation_id,
        user_message_id=question_id,
        assistant_message_id=MessageId(str(uuid4())),
        profile="docs",
        mode="queued",
        mode_reason="default",
        created_at=at,
    )
    question = TranscriptMessage(message_id=question_id, role="user", text=text, run_id=run_id, created_at=at)
    return run, question


def ask(store: Store, scope: Scope, conversation: Conversation, **turn: object) -> Run:
    run, question = build_turn(conversation, **turn)  # type: ignore[arg-type]  # keyword arguments of build_turn
    append(store, scope, run, question)
    return run


def append(store: Store, scope: Scope, run: Run, question: TranscriptMessage) -> None:
    """Write a turn that nothing stands against."""
    store.transcripts.append_turn(scope, run.conversation_id, let_begin(scope, run, question))


def build_end(*, text: str = "Rotate it yearly ⟦1⟧.", at: datetime = NOON + timedelta(minutes=1)) -> RunEnd:
    return RunEnd(
        stop_reason="end_turn",
        usage=Usage(input_tokens=900, output_tokens=40, cached_input_tokens=512),
        last_seq=17,
        ended_at=at,
        text=text,
        citations=(
            CitationRef(
                n=1,
                passage_id=PassageId(str(uuid4())),
                document_id=DocumentId(str(uuid4())),
                title="Keys",
                heading_path=("Operations", "Keys"),
                quote="Keys are rotated once a year",
                source_path="ops/keys.md",
            ),
        ),
        citations_removed=2,
        passages_retrieved=("p1", "p2"),
        actions=(build_step(),),
    )


def test_a_conversation_comes_back_as_it_was_written(store: Store, ada: Scope) -> None:
    written = new_conversation(store, ada, title="Keys")

    assert store.transcripts.fetch_conversation(ada, written.conversation_id) == written
    assert store.transcripts.list_conversations(ada, limit=10) == (written,)


def test_conversations_are_listed_last_changed_first_up_to_the_limit(store: Store, ada: Scope) -> None:
    old = new_conversation(store, ada, at=NOON)
    new_conversation(store, ada, at=NOON + timedelta(hours=1))
    ask(store, ada, old, at=NOON + timedelta(hours=2))

    listed = store.transcripts.list_conversations(ada, limit=1)

    assert [conversation.conversation_id for conversation in listed] == [old.conversation_id]


@pytest.mark.req("A-TEN-03")
def test_a_strangers_conversation_is_exactly_like_an_unknown_one(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    ask(store, ada, conversation)
    unknown = ConversationId(str(uuid4()))

    for stranger in strangers_of(ada):
        assert store.transcripts.list_conversations(stranger, limit=10) == ()
        for wanted in (conversation.conversation_id, unknown):
            with pytest.raises(NotFound, match=r"^there is no such conversation$"):
                store.transcripts.fetch_conversation(stranger, wanted)
            with pytest.raises(NotFound, match=r"^there is no such conversation$"):
                store.transcripts.list_messages(stranger, wanted, limit=10)
            with pytest.raises(NotFound, match=r"^there is no such conversation$"):
                store.artifacts.list_artifacts(stranger, wanted)


def test_an_identifier_that_is_no_uuid_is_not_found(store: Store, ada: Scope) -> None:
    with pytest.raises(NotFound):
        store.transcripts.fetch_conversation(ada, ConversationId("'; drop table assistant_runs; --"))
    with pytest.raises(NotFound):
        store.runs.fetch_run(ada, RunId("7"))


def test_a_turn_writes_question_run_and_title_together(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    later = NOON + timedelta(minutes=5)

    run = ask(store, ada, conversation, text="How do I rotate   a key?", at=later)

    touched = store.transcripts.fetch_conversation(ada, conversation.conversation_id)
    assert (touched.title, touched.updated_at) == ("How do I rotate a key?", later)
    assert store.runs.fetch_run(ada, run.run_id) == run
    (question,) = store.transcripts.list_messages(ada, conversation.conversation_id, limit=10)
    assert (question.role, question.text, question.run_id) == ("user", "How do I rotate   a key?", run.run_id)


def test_a_title_that_was_given_stays(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada, title="Keys")

    ask(store, ada, conversation)

    assert store.transcripts.fetch_conversation(ada, conversation.conversation_id).title == "Keys"


def test_a_repeated_turn_is_written_once(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    run, question = build_turn(conversation)

    append(store, ada, run, question)
    append(store, ada, run, question)

    assert store.transcripts.list_messages(ada, conversation.conversation_id, limit=10) == (question,)


def test_a_stranger_cannot_append_to_a_conversation(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    run, question = build_turn(conversation)

    for stranger in strangers_of(ada):
        with pytest.raises(NotFound):
            append(store, stranger, run, question)

    assert store.transcripts.list_messages(ada, conversation.conversation_id, limit=10) == ()
    with pytest.raises(NotFound):
        store.runs.fetch_run(ada, run.run_id)


def test_a_run_goes_from_queued_through_running_to_its_end(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    run = ask(store, ada, conversation)

    store.runs.start_run(ada, run.run_id, profile_version="docs@1", model=MODEL)
    running = store.runs.fetch_run(ada, run.run_id)
    store.runs.mark_provider_started(ada, run.run_id)
    end = build_end()
    assert store.runs.find_answer(ada, run.run_id) is None
    assert store.runs.end_run(ada, run.run_id, end)
    ended = store.runs.fetch_run(ada, run.run_id)

    assert (running.status, running.profile_version, running.model) == ("running", "docs@1", MODEL)
    assert running.started_at is not None
    assert not running.provider_started
    assert (ended.status, ended.stop_reason, ended.usage, ended.last_seq, ended.ended_at) == (
        "ended",
        "end_turn",
        end.usage,
        17,
        end.ended_at,
    )
    assert ended.provider_started


@pytest.mark.req("F-PERS-02", "A-DATA-02")
def test_the_answer_is_read_back_with_its_citations(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    run = ask(store, ada, conversation)
    end = build_end()

    store.runs.end_run(ada, run.run_id, end)

    answer = store.runs.find_answer(ada, run.run_id)
    assert answer == TranscriptMessage(
        message_id=run.assistant_message_id,
        role="assistant",
        text=end.text,
        run_id=run.run_id,
        created_at=end.ended_at,
        citations=end.citations,
        steps=(build_step().show(),),
    )
    listed = store.transcripts.list_messages(ada, conversation.conversation_id, limit=10)
    assert [message.role for message in listed] == ["user", "assistant"]
    assert listed[1] == answer


def test_only_the_last_messages_are_listed_oldest_first(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    for number in range(3):
        run = ask(store, ada, conversation, text=f"question {number}")
        store.runs.end_run(ada, run.run_id, build_end(text=f"answer {number}"))

    listed = store.transcripts.list_messages(ada, conversation.conversation_id, limit=3)

    assert [message.text for message in listed] == ["answer 1", "question 2", "answer 2"]


def test_a_run_that_said_nothing_leaves_no_message(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    run = ask(store, ada, conversation)
    end = replace(
        build_end(text=" \n"),
        stop_reason="error",
        citations=(),
        error_code="model",
        error_message="It failed.",
    )

    assert store.runs.end_run(ada, run.run_id, end)

    assert store.runs.find_answer(ada, run.run_id) is None
    ended = store.runs.fetch_run(ada, run.run_id)
    assert (ended.stop_reason, ended.error_code, ended.error_message) == ("error", "model", "It failed.")


def test_an_ended_run_never_changes_again(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    run = ask(store, ada, conversation)
    store.runs.end_run(ada, run.run_id, build_end())
    ended = store.runs.fetch_run(ada, run.run_id)

    assert not store.runs.end_run(ada, run.run_id, build_end(text="something else"))
    store.runs.start_run(ada, run.run_id, profile_version="docs@2", model=MODEL)
    store.runs.mark_provider_started(ada, run.run_id)

    assert store.runs.fetch_run(ada, run.run_id) == ended
    assert len(store.transcripts.list_messages(ada, conversation.conversation_id, limit=10)) == 2


def test_of_two_workers_that_end_a_run_at_once_one_wins(store: Store, ada: Scope) -> None:
    for _ in range(5):
        conversation = new_conversation(store, ada)
        run = ask(store, ada, conversation)
        with ThreadPoolExecutor(4) as threads:
            ends = [
                threads.submit(store.runs.end_run, ada, run.run_id, build_end(text=f"by {name}"))
                for name in range(4)
            ]
            won = [end.result() for end in ends]

        assert sorted(won) == [False, False, False, True]
        assert len(store.transcripts.list_messages(ada, conversation.conversation_id, limit=10)) == 2


@pytest.mark.req("A-TEN-03")
def test_a_strangers_run_is_not_there(store: Store, ada: Scope) -> None:
    run = ask(store, ada, new_conversation(store, ada))

    for stranger in strangers_of(ada):
        with pytest.raises(NotFound):
            store.runs.fetch_run(stranger, run.run_id)
        with pytest.raises(NotFound):
            store.runs.end_run(stranger, run.run_id, build_end())
        store.runs.start_run(stranger, run.run_id, profile_version="x", model=MODEL)
        assert store.runs.find_answer(stranger, run.run_id) is None

    assert store.runs.fetch_run(ada, run.run_id) == run


@pytest.mark.req("F-DATA-05")
def test_an_interaction_is_kept_once_and_only_in_ones_own_conversation(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    interaction = Interaction(
        interaction_id=str(uuid4()),
        conversation_id=conversation.conversation_id,
        run_id=None,
        kind="citation_opened",
        bucket="viewed",
        about="message-7",
        details={"n": 1},
        at=NOON,
    )

    store.interactions.record_interaction(ada, interaction)
    store.interactions.record_interaction(ada, interaction)

    for stranger in strangers_of(ada):
        with pytest.raises(NotFound):
            store.interactions.record_interaction(stranger, replace(interaction, interaction_id=str(uuid4())))


def test_a_conversation_without_artifacts_lists_none(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)

    assert store.artifacts.list_artifacts(ada, conversation.conversation_id) == ()


@pytest.mark.req("F-DATA-04", "F-PERS-02")
def test_an_artifact_is_kept_once_and_listed_for_whose_conversation_it_is_of(
    store: Store, ada: Scope
) -> None:
    conversation = new_conversation(store, ada)
    run = ask(store, ada, conversation)
    kept = ArtifactSummary(
        artifact_id=ArtifactId(str(uuid4())),
        run_id=run.run_id,
        kind="payload",
        title="citations",
        size_bytes=200_000,
        created_at=NOON,
    )

    for _ in range(2):
        store.artifacts.record_artifact(ada, conversation.conversation_id, kept)

    assert store.artifacts.list_artifacts(ada, conversation.conversation_id) == (kept,)
    for stranger in strangers_of(ada):
        another = replace(kept, artifact_id=ArtifactId(str(uuid4())))
        with pytest.raises(NotFound):
            store.artifacts.record_artifact(stranger, conversation.conversation_id, another)
    with pytest.raises(NotFound):
        store.artifacts.record_artifact(ada, ConversationId(str(uuid4())), kept)

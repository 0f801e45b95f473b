"""RetentionPort: what the sweep removes, in bounded batches, and what it leaves."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.records import PostgresRunRecordAdapter
from equerry.adapters.postgres.retention import PostgresRetentionAdapter
from equerry.adapters.postgres.roles import PLATFORM
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.search import (
    PostgresLexicalIndexAdapter,
    PostgresPassageAdapter,
    PostgresVectorStoreAdapter,
)
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.domain.conversations import Conversation, Run, RunEnd, TranscriptMessage
from equerry.domain.principal import Scope
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ConversationId, MessageId, RunId
from equerry.kernel.usage import Usage
from equerry.ports.records import RunRecordPort
from equerry.ports.retention import RetentionPort
from equerry.ports.transcripts import RunPort, TranscriptPort
from psycopg.errors import InsufficientPrivilege

from local.postgres import EmbeddedPostgres
from tests.contract.corpora import Library, publish
from tests.contract.databases import build_database, build_scope
from tests.contract.steps import build_step
from tests.fakes.clock import NOON
from tests.fakes.documents import (
    MemoryCorpora,
    MemoryDocumentAdapter,
    MemoryLexicalIndexAdapter,
    MemoryPassageAdapter,
    MemoryVectorStoreAdapter,
)
from tests.fakes.records import MemoryRunRecordAdapter
from tests.fakes.retention import MemoryRetentionAdapter
from tests.fakes.transcripts import (
    MemoryRunAdapter,
    MemoryTranscriptAdapter,
    MemoryTranscripts,
    let_begin,
)

ADMIN = build_scope("acme", "root", role="admin")
ADA = build_scope("acme", "ada")
OTHER = build_scope("rival", "zoe")


@dataclass(frozen=True)
class Store:
    retention: RetentionPort
    transcripts: TranscriptPort
    runs: RunPort
    records: RunRecordPort
    library: Library
    connections: PostgresConnections | None = None


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        said, held = MemoryTranscripts(), MemoryCorpora()
        yield Store(
            MemoryRetentionAdapter(said, held),
            MemoryTranscriptAdapter(said),
            MemoryRunAdapter(said),
            MemoryRunRecordAdapter(said),
            Library(
                MemoryDocumentAdapter(held),
                MemoryVectorStoreAdapter(held),
                MemoryLexicalIndexAdapter(held),
                MemoryPassageAdapter(held),
            ),
        )
        return
    server: EmbeddedPostgres = request.getfixturevalue("postgres")
    database = build_database(server)  # its own: the sweep crosses tenants
    runtime, platform = database.connect(), database.connect(PLATFORM)
    yield Store(
        PostgresRetentionAdapter(platform),
        PostgresTranscriptAdapter(runtime),
        PostgresRunAdapter(runtime),
        PostgresRunRecordAdapter(runtime),
        Library(
            PostgresDocumentAdapter(runtime),
            PostgresVectorStoreAdapter(runtime),
            PostgresLexicalIndexAdapter(runtime),
            PostgresPassageAdapter(runtime),
        ),
        runtime,
    )
    runtime.close()
    platform.close()


def converse(store: Store, number: int, *, at: datetime, owner: Scope = ADA) -> Conversation:
    conversation = Conversation(
        conversation_id=ConversationId(f"00000000-0000-0000-0000-{number:012}"),
        profile="docs",
        title="",
        created_at=at,
        updated_at=at,
    )
    run = Run(
        run_id=RunId(f"00000000-0000-0000-0001-{number:012}"),
        conversation_id=conversation.conversation_id,
        user_message_id=MessageId(f"00000000-0000-0000-0002-{number:012}"),
        assistant_message_id=MessageId(f"00000000-0000-0000-0003-{number:012}"),
        profile="docs",
        mode="queued",
        mode_reason="default",
        created_at=at,
    )
    question = TranscriptMessage(
        message_id=run.user_message_id, role="user", text="Why?", run_id=run.run_id, created_at=at
    )
    action = build_step(started_at=at, finished_at=at)
    end = RunEnd(
        stop_reason="end_turn", usage=Usage(), last_seq=3, ended_at=at, text="So.", actions=(action,)
    )
    store.transcripts.create_conversation(owner, conversation)
    store.transcripts.append_turn(owner, run.conversation_id, let_begin(owner, run, question))
    store.runs.end_run(owner, run.run_id, end)
    return conversation


def test_a_conversation_nobody_touched_goes_with_all_that_hangs_on_it(store: Store) -> None:
    old = converse(store, 1, at=NOON)
    young = converse(store, 2, at=NOON + timedelta(days=2))
    foreign = converse(store, 3, at=NOON, owner=OTHER)

    removed = store.retention.delete_conversations(unchanged_since=NOON + timedelta(days=1), limit=10)

    assert removed == 2
    assert [kept.conversation_id for kept in store.transcripts.list_conversations(ADA, limit=9)] == [
        young.conversation_id
    ]
    for scope, gone in ((ADA, old), (OTHER, foreign)):
        with pytest.raises(NotFound):
            store.transcripts.list_messages(scope, gone.conversation_id, limit=9)
    with pytest.raises(NotFound):
        store.runs.fetch_run(ADA, RunId("00000000-0000-0000-0001-000000000001"))


def test_a_batch_is_bounded_and_takes_the_oldest_first(store: Store) -> None:
    for number in range(5):
        converse(store, number, at=NOON + timedelta(minutes=number))
    late = NOON + timedelta(days=1)

    assert store.retention.delete_conversations(unchanged_since=late, limit=3) == 3
    left = store.transcripts.list_conversations(ADA, limit=9)
    assert [kept.updated_at for kept in left] == [NOON + timedelta(minutes=4), NOON + timedelta(minutes=3)]
    assert store.retention.delete_conversations(unchanged_since=late, limit=3) == 2
    assert store.retention.delete_conversations(unchanged_since=late, limit=3) == 0


def test_replaced_and_withdrawn_passages_go_and_current_ones_stay(store: Store) -> None:
    library = store.library
    publish(library, ADMIN, "a.md", "old")
    cited = library.list_readable(ADA)[0]
    publish(library, ADMIN, "a.md", "new")
    gone = publish(library, ADMIN, "b.md", "withdrawn")
    library.documents.withdraw(ADMIN.organisation_id, gone)
    now = datetime.now(UTC)

    before = store.retention.delete_superseded_passages(superseded_before=now - timedelta(hours=1), limit=10)
    library.passages.fetch_passage(ADA, cited.passage_id)
    after = store.retention.delete_superseded_passages(superseded_before=now + timedelta(hours=1), limit=10)

    assert (before, after) == (0, 2)
    assert library.read_texts(ADA) == ["new"]
    with pytest.raises(NotFound):
        library.passages.fetch_passage(ADA, cited.passage_id)


@pytest.mark.req("A-DATA-12")
@pytest.mark.parametrize("store", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_the_audit_outlives_the_conversation(store: Store) -> None:
    converse(store, 1, at=NOON)

    store.retention.delete_conversations(unchanged_since=NOON + timedelta(days=1), limit=10)

    assert store.connections is not None
    with store.connections.transaction(ADA) as rows:
        kept = rows.execute("SELECT tool FROM assistant_actions").fetchall()
    assert kept == [{"tool": "search_docs"}]


@pytest.mark.req("A-RETN-03", "A-DATA-05")
def test_audit_and_usage_go_when_their_own_time_is_over_in_bounded_batches(store: Store) -> None:
    for number in range(3):
        converse(store, number, at=NOON + timedelta(minutes=number))
    converse(store, 9, at=NOON + timedelta(days=2))
    later = NOON + timedelta(days=1)

    removed = [store.retention.delete_audit(older_than=later, limit=4) for _ in range(3)]

    assert removed == [4, 2, 0]
    record = store.records.fetch_record(ADA, RunId("00000000-0000-0000-0001-000000000009"))
    assert record.usage is not None
    gone = store.records.fetch_record(ADA, RunId("00000000-0000-0000-0001-000000000000"))
    assert gone.usage is None


@pytest.mark.req("A-RETN-01", "A-DATA-05")
@pytest.mark.parametrize("store", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_the_runtime_role_cannot_sweep(store: Store) -> None:
    assert store.connections is not None
    with pytest.raises(InsufficientPrivilege):
        PostgresRetentionAdapter(store.connections).delete_conversations(unchanged_since=NOON, limit=1)

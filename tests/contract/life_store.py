"""What people and organisations keep in a database, and the adapters that end its life."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

import psycopg
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.disposals import PostgresDisposalAdapter
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.erasure import PostgresErasureAdapter
from equerry.adapters.postgres.offboarding import PostgresOffboardingAdapter
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
from equerry.domain.retention import parse_erasure
from equerry.kernel.identifiers import ConversationId, MessageId, RunId
from equerry.kernel.usage import Usage

from local.postgres import EmbeddedPostgres
from tests.contract.corpora import Library
from tests.contract.databases import Database, build_database, build_scope
from tests.contract.steps import build_step
from tests.fakes.clock import NOON
from tests.fakes.transcripts import let_begin

ADA, BEN = build_scope("acme", "ada"), build_scope("acme", "ben")
ADA_ELSEWHERE = build_scope("rival", "ada")
ADMIN = build_scope("acme", "root", role="admin")
LATER = NOON + timedelta(minutes=20)
REQUEST = parse_erasure("ada", "request-1")


COLUMNS = (
    "organisation_id, corpus_id, document_id, version, title, source_path, heading_path, text, token_count,"
    " hash, embedding, embedding_version, visible_to"
)
ANOTHER_PASSAGE = (
    f"INSERT INTO assistant_passages ({COLUMNS}, ordinal) SELECT {COLUMNS}, 9 FROM assistant_passages"
    " WHERE document_id = %s"
)


@dataclass(frozen=True)
class Store:
    database: Database
    runtime: PostgresConnections
    platform: PostgresConnections

    @property
    def erasures(self) -> PostgresErasureAdapter:
        return PostgresErasureAdapter(self.platform)

    @property
    def offboarding(self) -> PostgresOffboardingAdapter:
        return PostgresOffboardingAdapter(self.platform)

    @property
    def disposals(self) -> PostgresDisposalAdapter:
        return PostgresDisposalAdapter(self.platform)

    @property
    def library(self) -> Library:
        return Library(
            PostgresDocumentAdapter(self.runtime),
            PostgresVectorStoreAdapter(self.runtime),
            PostgresLexicalIndexAdapter(self.runtime),
            PostgresPassageAdapter(self.runtime),
        )

    def converse(self, owner: Scope, *, ended: bool = True) -> Run:
        run = Run(
            run_id=RunId(str(uuid4())),
            conversation_id=ConversationId(str(uuid4())),
            user_message_id=MessageId(str(uuid4())),
            assistant_message_id=MessageId(str(uuid4())),
            profile="docs",
            mode="queued",
            mode_reason="default",
            created_at=NOON,
        )
        conversation = Conversation(
            conversation_id=run.conversation_id, profile="docs", title="", created_at=NOON, updated_at=NOON
        )
        question = TranscriptMessage(
            message_id=run.user_message_id, role="user", text="Why?", run_id=run.run_id, created_at=NOON
        )
        transcripts = PostgresTranscriptAdapter(self.runtime)
        transcripts.create_conversation(owner, conversation)
        transcripts.append_turn(owner, run.conversation_id, let_begin(owner, run, question))
        if ended:
            action = build_step(started_at=NOON, finished_at=NOON)
            end = RunEnd(
                stop_reason="end_turn",
                usage=Usage(),
                last_seq=3,
                ended_at=NOON,
                text="So.",
                actions=(action,),
            )
            PostgresRunAdapter(self.runtime).end_run(owner, run.run_id, end)
        return run

    def count(self, table: str, where: str = "true") -> int:
        with psycopg.connect(self.database.superuser_url) as session:
            found = session.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()
        assert found
        return int(found[0])

    def list_noted(self) -> set[tuple[str, str, str, str]]:
        due = self.disposals.list_due(now=NOON + timedelta(days=36500), limit=100)
        return {(one.kind, one.organisation_id, one.user_id, one.thing_id) for one in due}


@contextmanager
def open_store(postgres: EmbeddedPostgres) -> Iterator[Store]:
    """A database of its own."""
    database = build_database(postgres)
    runtime, platform = database.connect(), database.connect(PLATFORM)
    yield Store(database, runtime, platform)
    runtime.close()
    platform.close()

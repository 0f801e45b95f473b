"""ErasurePort, OffboardingPort and DisposalPort: whose rows go, whose stay, and what is noted."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest
from equerry.adapters.aws.uploads import VALID_FOR_S
from equerry.adapters.postgres.activity import PostgresActivityAdapter
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.disposals import PostgresDisposalAdapter
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.erasure import PostgresErasureAdapter
from equerry.adapters.postgres.offboarding import PostgresOffboardingAdapter
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
from equerry.domain.retention import STILL_AT_WORK, parse_erasure
from equerry.kernel.errors import NotFound, Unavailable
from equerry.kernel.identifiers import ConversationId, MessageId, OrganisationId, RunId
from equerry.kernel.usage import Usage
from psycopg.errors import InsufficientPrivilege

from local.postgres import EmbeddedPostgres
from tests.contract.corpora import Library, publish
from tests.contract.databases import Database, build_database, build_scope
from tests.contract.racing import wait_for_waiting
from tests.contract.steps import build_step
from tests.fakes.clock import NOON
from tests.fakes.transcripts import let_begin

pytestmark = pytest.mark.postgres
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


@pytest.fixture
def store(postgres: EmbeddedPostgres) -> Iterator[Store]:
    database = build_database(postgres)
    runtime, platform = database.connect(), database.connect(PLATFORM)
    yield Store(database, runtime, platform)
    runtime.close()
    platform.close()


@pytest.mark.req("A-ERASE-04", "A-ERASE-05", "A-ERASE-07", "A-ERASE-09")
def test_a_person_goes_from_every_organisation_and_nobody_else_from_any(store: Store) -> None:
    store.converse(ADA), store.converse(ADA_ELSEWHERE)
    kept = store.converse(BEN)
    store.erasures.begin(REQUEST, at=NOON)

    removed = store.erasures.erase_rows(REQUEST, again_at=LATER)
    again = store.erasures.erase_rows(REQUEST, again_at=LATER)

    assert {table: count for table, count in removed.items() if count} == {
        "assistant_conversations": 2,
        "assistant_messages": 4,
        "assistant_runs": 2,
        "assistant_run_records": 2,
        "assistant_steps": 2,
        "assistant_actions": 2,
        "assistant_usage": 2,
    }
    assert set(again.values()) == {0}
    assert PostgresRunRecordAdapter(store.runtime).fetch_record(BEN, kept.run_id).usage is not None
    assert store.count("assistant_conversations") == store.count("assistant_actions") == 1


def test_what_lies_in_other_stores_is_noted_with_the_rows_and_late_writers_twice(store: Store) -> None:
    ended, live = store.converse(ADA), store.converse(ADA_ELSEWHERE, ended=False)
    store.converse(BEN)

    store.erasures.erase_rows(REQUEST, again_at=LATER)

    assert store.list_noted() == {
        ("conversation", "acme", "ada", ended.conversation_id),
        ("conversation", "rival", "ada", live.conversation_id),
        ("run", "acme", "ada", ended.run_id),
        ("run", "rival", "ada", live.run_id),
        ("person", "", "ada", ""),
        ("person", "acme", "ada", ""),
        ("person", "rival", "ada", ""),
    }
    late = f"due_at = '{LATER.isoformat()}' AND thing_id IN ('{live.run_id}', '{live.conversation_id}')"
    assert store.count("assistant_disposals", late) == 2


def test_a_document_only_the_person_may_read_goes_and_off_others_goes_their_key(store: Store) -> None:
    library = store.library
    alone = publish(library, ADMIN, "alone.md", "mine", visible_to=("user:ada",))
    publish(library, ADMIN, "two.md", "ours", visible_to=("user:ada", "user:ben"))
    publish(library, ADMIN, "all.md", "everyone's")

    removed = store.erasures.erase_rows(REQUEST, again_at=LATER)

    assert (removed["assistant_documents"], removed["assistant_passages"]) == (2, 2)
    assert library.read_texts(BEN) == ["everyone's", "ours"]
    assert library.read_texts(ADA) == ["everyone's"]
    assert ("document", "acme", "ada", f"handbook/{alone}") in store.list_noted()
    assert store.count("assistant_documents", "visible_to::text LIKE '%ada%'") == 0
    assert store.count("assistant_passages", "visible_to::text || readers::text LIKE '%ada%'") == 0


@pytest.mark.req("A-ERASE-05")
def test_what_is_uploaded_after_its_document_went_is_looked_for_once_no_address_holds(store: Store) -> None:
    alone = publish(store.library, ADMIN, "alone.md", "mine", visible_to=("user:ada",))

    store.erasures.erase_rows(REQUEST, again_at=LATER)

    assert STILL_AT_WORK.total_seconds() > VALID_FOR_S
    late = f"due_at = '{LATER.isoformat()}' AND thing_id = 'handbook/{alone}'"
    assert store.count("assistant_disposals", "kind = 'document'") == 2
    assert store.count("assistant_disposals", late) == 1


def test_a_late_look_leaves_a_document_that_was_announced_again_until_that_goes(store: Store) -> None:
    later = datetime.now(UTC) + STILL_AT_WORK
    alone = publish(store.library, ADMIN, "alone.md", "mine", visible_to=("user:ada",))
    store.erasures.erase_rows(REQUEST, again_at=later)
    assert publish(store.library, ADMIN, "alone.md", "another's") == alone

    def list_moments() -> list[datetime | None]:
        due = store.disposals.list_due(now=later, limit=9)
        return [one.due_at for one in due if one.kind == "document"]

    assert len(list_moments()) == 1
    assert later not in list_moments()
    while store.offboarding.delete_rows(OrganisationId("acme"), limit=9):
        pass
    assert later in list_moments()


@pytest.mark.req("A-ERASE-04")
def test_what_others_did_stays_and_names_the_person_no_more(store: Store) -> None:
    run = store.converse(ADA)
    PostgresActivityAdapter(store.runtime).record_reads(ADMIN, [run.run_id], at=NOON)

    store.erasures.erase_rows(REQUEST, again_at=LATER)

    assert store.count("assistant_actions") == 1
    assert store.count("assistant_actions", "assistant_actions::text ~ '\\mada\\M'") == 0


@pytest.mark.req("A-ERASE-04")
def test_an_erasure_that_fails_on_its_way_removes_nothing(store: Store) -> None:
    store.converse(ADA)
    with psycopg.connect(store.database.owner_url) as owner:
        owner.execute("REVOKE DELETE ON assistant_usage FROM equerry_platform")

    with pytest.raises(InsufficientPrivilege):
        store.erasures.erase_rows(REQUEST, again_at=LATER)

    assert store.count("assistant_messages") == 2
    assert store.list_noted() == set()


def test_an_erasure_is_proved_without_naming_the_person(store: Store) -> None:
    store.converse(ADA)
    store.erasures.begin(REQUEST, at=NOON)
    store.erasures.begin(REQUEST, at=LATER)
    assert store.erasures.list_unfinished() == (REQUEST,)

    store.erasures.erase_rows(REQUEST, again_at=LATER)
    store.erasures.complete(REQUEST, {"items": 3}, at=LATER)

    assert store.erasures.list_unfinished() == ()
    with psycopg.connect(store.database.superuser_url) as session:
        proof = session.execute("SELECT to_jsonb(d) FROM assistant_deletions d").fetchone()
    assert proof
    assert "ada" not in json.dumps(proof[0])
    assert proof[0]["request_id"] == "request-1"
    assert [entry.get("assistant_messages", entry.get("items")) for entry in proof[0]["removed"]] == [2, 3]


@pytest.mark.parametrize("table", ["assistant_org_offboarding", "assistant_disposals", "assistant_deletions"])
def test_no_tenant_sees_what_is_kept_about_deletions(store: Store, table: str) -> None:
    with pytest.raises(InsufficientPrivilege), store.runtime.transaction(ADMIN) as rows:
        rows.execute(f"SELECT 1 FROM {table}")


def test_a_proof_cannot_be_removed_even_by_the_platform(store: Store) -> None:
    with pytest.raises(InsufficientPrivilege), store.platform.across_tenants() as rows:
        rows.execute("DELETE FROM assistant_deletions")


def test_a_run_of_an_erased_person_cannot_be_ended_any_more(store: Store) -> None:
    run = store.converse(ADA, ended=False)
    store.erasures.erase_rows(REQUEST, again_at=LATER)
    runs = PostgresRunAdapter(store.runtime)

    with pytest.raises(NotFound):
        runs.fetch_run(ADA, run.run_id)
    end = RunEnd(stop_reason="end_turn", usage=Usage(), last_seq=3, ended_at=NOON, text="late")
    with suppress(NotFound):
        assert not runs.end_run(ADA, run.run_id, end)
    assert store.count("assistant_messages") == store.count("assistant_usage") == 0


@pytest.mark.req("A-OFFB-01")
def test_organisations_with_anything_left_are_found_each_once(store: Store) -> None:
    store.converse(ADA), store.converse(BEN), store.converse(ADA_ELSEWHERE)
    publish(store.library, build_scope("books", "root", role="admin"), "a.md", "x")
    store.offboarding.start_clock(OrganisationId("emptied"), at=NOON)

    assert store.offboarding.list_organisations() == ("acme", "books", "emptied", "rival")


@pytest.mark.req("A-DATA-15")
def test_a_clock_keeps_its_first_sighting_until_it_is_stopped(store: Store) -> None:
    acme, offboarding = OrganisationId("acme"), store.offboarding

    offboarding.start_clock(acme, at=NOON)
    assert offboarding.start_clock(acme, at=LATER).first_disabled_at == NOON
    assert offboarding.stop_clock(acme)
    assert not offboarding.stop_clock(acme)
    assert offboarding.find_clock(acme) is None


@pytest.mark.req("F-TENV-04", "A-RETN-01")
def test_an_organisation_s_rows_go_in_batches_and_nobody_else_s(store: Store) -> None:
    acme, offboarding = OrganisationId("acme"), store.offboarding
    runs = [store.converse(ADA), store.converse(BEN)]
    other = store.converse(ADA_ELSEWHERE)
    publish(store.library, ADMIN, "a.md", "old")
    document = publish(store.library, ADMIN, "a.md", "new")
    removed: dict[str, int] = {}

    offboarding.begin_purge(acme, at=NOON)
    while batch := offboarding.delete_rows(acme, limit=1):
        assert set(batch.values()) == {1}
        for table, count in batch.items():
            removed[table] = removed.get(table, 0) + count
    offboarding.complete_purge(acme, removed, at=LATER)

    assert removed == {
        "assistant_conversations": 2,
        "assistant_actions": 2,
        "assistant_usage": 2,
        "assistant_passages": 2,
        "assistant_documents": 1,
        "assistant_corpora": 1,
    }
    assert offboarding.list_organisations() == ("rival",)
    assert store.count("assistant_messages", "organisation_id = 'acme'") == 0
    PostgresRunAdapter(store.runtime).fetch_run(ADA_ELSEWHERE, other.run_id)
    assert {("document", "acme", "", f"handbook/{document}")} | {
        (kind, "acme", scope.user_id, thing)
        for scope, run in zip((ADA, BEN), runs, strict=True)
        for kind, thing in (("run", run.run_id), ("conversation", run.conversation_id))
    } == store.list_noted()
    assert store.count("assistant_deletions", "kind = 'organisation' AND completed_at IS NOT NULL") == 1


def test_a_purge_that_meets_a_publication_stops_there_and_goes_on_with_it(store: Store) -> None:
    acme, offboarding = OrganisationId("acme"), store.offboarding
    document = publish(store.library, ADMIN, "a.md", "text")

    def purge() -> None:
        while offboarding.delete_rows(acme, limit=9):
            pass

    with psycopg.connect(store.database.superuser_url) as publishing, ThreadPoolExecutor(1) as threads:
        publishing.execute(ANOTHER_PASSAGE, (document,))
        purging = threads.submit(purge)
        wait_for_waiting(store.database, 1)
        publishing.commit()
        with pytest.raises(Unavailable):
            purging.result(timeout=60)

    assert store.count("assistant_documents") == 1
    purge()
    assert store.count("assistant_passages") == store.count("assistant_documents") == 0


def test_an_export_has_an_organisation_s_words_and_no_other_s(store: Store) -> None:
    store.converse(ADA), store.converse(ADA_ELSEWHERE)

    exported = list(store.offboarding.read_rows(OrganisationId("acme")))

    assert {table for table, _ in exported} == {
        "assistant_conversations",
        "assistant_messages",
        "assistant_actions",
    }
    assert {row["organisation_id"] for _, row in exported} == {"acme"}
    json.dumps([row for _, row in exported])


def test_a_swept_conversation_s_remains_are_noted_in_the_same_step(store: Store) -> None:
    run = store.converse(ADA)
    retention = PostgresRetentionAdapter(store.platform)

    retention.delete_conversations(unchanged_since=NOON + timedelta(days=3650), limit=10)

    assert ("conversation", "acme", "ada", run.conversation_id) in store.list_noted()


@pytest.mark.req("F-DATA-11")
def test_an_organisation_s_own_windows_are_within_limits_in_the_database_too(store: Store) -> None:
    with store.platform.across_tenants() as rows:
        rows.execute(
            "INSERT INTO assistant_tenancies (organisation_id, enabled, conversation_days)"
            " VALUES ('acme', true, 60), ('rival', true, NULL)"
        )
    (own,) = PostgresRetentionAdapter(store.platform).list_shortenings()

    assert (own.organisation_id, own.conversation_days, own.action_days) == ("acme", 60, None)
    with pytest.raises(psycopg.errors.CheckViolation), store.platform.across_tenants() as rows:
        rows.execute("UPDATE assistant_tenancies SET conversation_days = 5")


def test_a_sweep_of_one_organisation_leaves_others_alone(store: Store) -> None:
    store.converse(ADA), store.converse(ADA_ELSEWHERE)
    retention, long_after = PostgresRetentionAdapter(store.platform), NOON + timedelta(days=3650)
    rival = OrganisationId("rival")

    assert retention.delete_conversations(unchanged_since=long_after, limit=9, organisation_id=rival) == 1
    assert retention.delete_audit(older_than=long_after, limit=9, organisation_id=rival) == 2
    assert store.count("assistant_conversations", "organisation_id = 'acme'") == 1
    assert store.count("assistant_actions", "organisation_id = 'acme'") == 1


def test_a_withdrawn_document_goes_when_its_passages_have(store: Store) -> None:
    gone = publish(store.library, ADMIN, "a.md", "withdrawn")
    publish(store.library, ADMIN, "b.md", "stays")
    store.library.documents.withdraw(ADMIN.organisation_id, gone)
    retention, long_after = PostgresRetentionAdapter(store.platform), NOON + timedelta(days=3650)

    assert retention.delete_withdrawn_documents(withdrawn_before=long_after, limit=9) == 0
    assert retention.delete_superseded_passages(superseded_before=long_after, limit=9) == 1
    assert retention.delete_withdrawn_documents(withdrawn_before=long_after, limit=9) == 1
    assert store.count("assistant_documents") == 1
    # Whoever withdrew it may have died before the uploads were deleted.
    assert store.list_noted() == {("document", "acme", "", f"handbook/{gone}")}


def test_a_publication_under_way_does_not_outrun_the_erasure_of_its_reader(store: Store) -> None:
    """The publication waits for the erasure, or the erasure for it: no passage is left with the key."""
    library = store.library
    document = publish(library, ADMIN, "two.md", "ours", visible_to=("user:ada", "user:ben"))
    with (
        psycopg.connect(store.database.superuser_url) as publishing,
        ThreadPoolExecutor(1) as threads,
    ):
        publishing.execute("SELECT FROM assistant_documents WHERE document_id = %s FOR UPDATE", (document,))
        erasure = threads.submit(store.erasures.erase_rows, REQUEST, again_at=LATER)
        wait_for_waiting(store.database, 1)
        publishing.execute(ANOTHER_PASSAGE, (document,))
        publishing.commit()
        erasure.result(timeout=60)

    assert store.count("assistant_passages", "visible_to::text LIKE '%ada%'") == 0

"""OffboardingPort and RetentionPort: an organisation's rows and old ones go, and nobody else's."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest
from equerry.adapters.postgres.retention import PostgresRetentionAdapter
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId

from local.postgres import EmbeddedPostgres
from tests.contract.corpora import publish
from tests.contract.databases import build_scope
from tests.contract.life_store import (
    ADA,
    ADA_ELSEWHERE,
    ADMIN,
    ANOTHER_PASSAGE,
    BEN,
    LATER,
    Store,
    open_store,
)
from tests.contract.racing import wait_for_waiting
from tests.fakes.clock import NOON

pytestmark = pytest.mark.postgres


@pytest.fixture
def store(postgres: EmbeddedPostgres) -> Iterator[Store]:
    with open_store(postgres) as opened:
        yield opened


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

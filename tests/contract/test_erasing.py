"""ErasurePort, OffboardingPort and DisposalPort: whose rows go, whose stay, and what is noted."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime

import psycopg
import pytest
from equerry.adapters.aws.uploads import VALID_FOR_S
from equerry.adapters.postgres.activity import PostgresActivityAdapter
from equerry.adapters.postgres.records import PostgresRunRecordAdapter
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.domain.conversations import RunEnd
from equerry.domain.retention import STILL_AT_WORK
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import OrganisationId
from equerry.kernel.usage import Usage
from psycopg.errors import InsufficientPrivilege

from local.postgres import EmbeddedPostgres
from tests.contract.corpora import publish
from tests.contract.life_store import (
    ADA,
    ADA_ELSEWHERE,
    ADMIN,
    ANOTHER_PASSAGE,
    BEN,
    LATER,
    REQUEST,
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

"""DisposalPort: what is noted is listed when it is due, until it is finished."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from equerry.adapters.postgres.disposals import PostgresDisposalAdapter
from equerry.adapters.postgres.roles import PLATFORM
from equerry.ports.disposals import Disposal, DisposalPort

from local.postgres import EmbeddedPostgres
from tests.contract.databases import build_database
from tests.fakes.clock import NOON
from tests.fakes.life import MemoryDisposalAdapter


@dataclass(frozen=True)
class Store:
    disposals: DisposalPort
    note: Callable[[datetime, Disposal], None]


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        memory = MemoryDisposalAdapter()
        yield Store(memory, memory.note)
        return
    server: EmbeddedPostgres = request.getfixturevalue("postgres")
    platform = build_database(server).connect(PLATFORM)

    def note(at: datetime, one: Disposal) -> None:
        with platform.across_tenants() as rows:
            rows.execute(
                "INSERT INTO assistant_disposals (kind, organisation_id, user_id, thing_id, due_at)"
                " VALUES (%s, %s, %s, %s, %s)",
                (one.kind, one.organisation_id, one.user_id, one.thing_id, at),
            )

    yield Store(PostgresDisposalAdapter(platform), note)
    platform.close()


def of(organisation: str, user: str, thing: str) -> Disposal:
    return Disposal(
        disposal_id=0, kind="conversation", organisation_id=organisation, user_id=user, thing_id=thing
    )


def whole(organisation: str) -> Disposal:
    return Disposal(disposal_id=0, kind="organisation", organisation_id=organisation)


def list_things(store: Store, **narrowed: str) -> list[str]:
    return [one.thing_id for one in store.disposals.list_due(now=NOON, limit=9, **narrowed)]


def test_a_person_s_come_together_and_what_is_not_due_waits(store: Store) -> None:
    for user, thing in (("zoe", "1"), ("ada", "2"), ("zoe", "3")):
        store.note(NOON, of("acme", user, thing))
    store.note(NOON + timedelta(seconds=1), of("acme", "ada", "later"))

    assert list_things(store) == ["2", "1", "3"]
    assert [one.thing_id for one in store.disposals.list_due(now=NOON, limit=2)] == ["2", "1"]


def test_one_organisation_s_or_one_person_s_can_be_asked_for(store: Store) -> None:
    store.note(NOON, of("acme", "ada", "1"))
    store.note(NOON, of("rival", "ada", "2"))
    store.note(NOON, of("rival", "zoe", "3"))

    assert list_things(store, organisation_id="rival") == ["2", "3"]
    assert list_things(store, user_id="ada") == ["1", "2"]


@pytest.mark.req("A-OFFB-05", "A-OFFB-06")
def test_an_organisation_as_a_whole_is_never_due(store: Store) -> None:
    store.note(NOON, whole("acme"))
    store.note(NOON, of("acme", "ada", "1"))

    assert list_things(store) == list_things(store, organisation_id="acme") == ["1"]


def test_what_an_organisation_s_removal_covers_is_forgotten_but_for_runs_and_what_is_not_due(
    store: Store,
) -> None:
    store.note(NOON, of("acme", "ada", "1"))
    store.note(NOON, replace(of("acme", "ada", "run"), kind="run"))
    store.note(NOON + timedelta(seconds=1), of("acme", "ada", "later"))
    store.note(NOON, of("rival", "ada", "2"))

    store.disposals.forget_covered("acme", now=NOON)

    assert list_things(store) == ["run", "2"]
    late = store.disposals.list_due(now=NOON + timedelta(seconds=1), limit=9, organisation_id="acme")
    assert [one.thing_id for one in late] == ["run", "later"]


def test_what_is_finished_is_listed_no_more_and_may_be_finished_twice(store: Store) -> None:
    store.note(NOON, of("acme", "ada", "1"))
    store.note(NOON, of("acme", "ada", "2"))
    first = store.disposals.list_due(now=NOON, limit=1)

    store.disposals.finish(first)
    store.disposals.finish(first)

    assert list_things(store) == ["2"]

"""ErasurePort and OffboardingPort, as the services lean on them, over memory and PostgreSQL."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from equerry.adapters.postgres.disposals import PostgresDisposalAdapter
from equerry.adapters.postgres.erasure import PostgresErasureAdapter
from equerry.adapters.postgres.offboarding import PostgresOffboardingAdapter
from equerry.adapters.postgres.roles import PLATFORM
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.domain.conversations import Conversation
from equerry.domain.retention import parse_erasure
from equerry.kernel.identifiers import ConversationId, OrganisationId
from equerry.ports.disposals import DisposalPort
from equerry.ports.erasure import ErasurePort
from equerry.ports.offboarding import OffboardingPort

from local.postgres import EmbeddedPostgres
from tests.contract.databases import build_database, build_scope
from tests.fakes.clock import NOON
from tests.fakes.life import MemoryDisposalAdapter, MemoryErasureAdapter, MemoryOffboardingAdapter

ACME = OrganisationId("acme")
LATER = NOON + timedelta(hours=1)
FAR = NOON + timedelta(days=36500)
ADA, BEN = parse_erasure("ada", "one"), parse_erasure("ben", "two")


@dataclass(frozen=True)
class Store:
    """Ada has one conversation in acme."""

    erasures: ErasurePort
    offboarding: OffboardingPort
    disposals: DisposalPort
    fill: Callable[[], None]


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        noted = MemoryDisposalAdapter()
        erasures, offboarding = MemoryErasureAdapter(noted), MemoryOffboardingAdapter(noted)

        def remember() -> None:
            erasures.rows["ada"] = {"assistant_conversations": 1}
            offboarding.rows["acme"] = {"assistant_conversations": [{"title": "t"}]}

        yield Store(erasures, offboarding, noted, remember)
        return
    server: EmbeddedPostgres = request.getfixturevalue("postgres")
    database = build_database(server)
    runtime, platform = database.connect(), database.connect(PLATFORM)

    def insert() -> None:
        conversation = Conversation(
            conversation_id=ConversationId("00000000-0000-0000-0000-000000000001"),
            profile="docs",
            title="t",
            created_at=NOON,
            updated_at=NOON,
        )
        PostgresTranscriptAdapter(runtime).create_conversation(build_scope("acme", "ada"), conversation)

    yield Store(
        PostgresErasureAdapter(platform),
        PostgresOffboardingAdapter(platform),
        PostgresDisposalAdapter(platform),
        insert,
    )
    runtime.close()
    platform.close()


def test_an_erasure_is_unfinished_from_its_beginning_to_its_completion(store: Store) -> None:
    store.erasures.begin(ADA, at=NOON)
    store.erasures.begin(BEN, at=LATER)
    store.erasures.begin(ADA, at=LATER)
    assert store.erasures.list_unfinished() == (ADA, BEN)

    store.erasures.erase_rows(ADA, again_at=FAR)
    store.erasures.complete(ADA, {"items": 1}, at=LATER)

    assert store.erasures.list_unfinished() == (BEN,)


def test_a_request_that_comes_again_after_its_end_is_unfinished_again(store: Store) -> None:
    for _ in range(2):
        store.erasures.begin(ADA, at=NOON)
        assert store.erasures.list_unfinished() == (ADA,)
        store.erasures.erase_rows(ADA, again_at=FAR)
        store.erasures.complete(ADA, {"items": 0}, at=LATER)

    assert store.erasures.list_unfinished() == ()


def test_a_person_s_rows_are_counted_once_and_leave_their_notes(store: Store) -> None:
    store.fill()
    store.erasures.begin(ADA, at=NOON)

    first = store.erasures.erase_rows(ADA, again_at=FAR)
    again = store.erasures.erase_rows(ADA, again_at=FAR)

    assert (first["assistant_conversations"], set(again.values())) == (1, {0})
    kinds = {one.kind for one in store.disposals.list_due(now=FAR, limit=9, user_id="ada")}
    assert kinds == {"conversation", "person"}


def test_an_organisation_is_there_while_it_has_rows_or_a_clock(store: Store) -> None:
    assert store.offboarding.list_organisations() == ()
    store.fill()
    assert store.offboarding.list_organisations() == ("acme",)

    store.offboarding.start_clock(ACME, at=NOON)
    while store.offboarding.delete_rows(ACME, limit=5):
        pass
    assert store.offboarding.list_organisations() == ("acme",)
    store.offboarding.complete_purge(ACME, {}, at=LATER)

    assert store.offboarding.list_organisations() == ()


def test_a_purge_that_began_twice_began_the_first_time(store: Store) -> None:
    assert store.offboarding.find_clock(ACME) is None

    store.offboarding.begin_purge(ACME, at=NOON)
    store.offboarding.begin_purge(ACME, at=LATER)

    clock = store.offboarding.find_clock(ACME)
    assert clock
    assert (clock.first_disabled_at, clock.purge_started_at) == (NOON, NOON)
    assert clock.is_due(NOON, after_days=90)


def test_what_an_organisation_s_rows_leave_is_noted_as_they_go(store: Store) -> None:
    store.fill()
    store.offboarding.begin_purge(ACME, at=NOON)
    assert store.disposals.list_due(now=FAR, limit=9) == ()

    assert store.offboarding.delete_rows(ACME, limit=5) == {"assistant_conversations": 1}

    (noted,) = store.disposals.list_due(now=FAR, limit=9)
    assert (noted.kind, noted.organisation_id) == ("conversation", "acme")


def test_rows_are_read_for_an_export_as_they_are(store: Store) -> None:
    store.fill()

    ((table, row),) = store.offboarding.read_rows(ACME)

    assert (table, row["title"]) == ("assistant_conversations", "t")

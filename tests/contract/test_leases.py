"""LeasePort: over memory and over DynamoDB."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from equerry.domain.leases import Lease, LeaseLost, TurnInProgress
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ConversationId, OrganisationId, ProjectId, RunId, UserId

from tests.contract.aws_backends import BACKENDS, start_aws
from tests.contract.leasing import LeaseBook, create_lease_book
from tests.contract.racing import race
from tests.fakes.admission import MemoryAdmissionAdapter
from tests.fakes.clock import NOON
from tests.fakes.leases import MemoryLeaseAdapter

C, R, S = ConversationId("c-1"), RunId("r-1"), RunId("r-2")
SCOPE = Scope(
    organisation_id=OrganisationId("acme"),
    user_id=UserId("ann"),
    role="admin",
    project_ids=(ProjectId("p2"), ProjectId("p1")),
)
TICK = timedelta(microseconds=1)
SOON = NOON + timedelta(seconds=30, microseconds=123_457)
LATER = NOON + timedelta(seconds=330)


@pytest.fixture(params=["memory", *BACKENDS])
def leases(request: pytest.FixtureRequest) -> Iterator[LeaseBook]:
    if request.param == "memory":
        memory = MemoryLeaseAdapter()
        yield LeaseBook(memory, MemoryAdmissionAdapter(memory))
        return
    with start_aws(request.param) as clients:
        yield create_lease_book(clients.dynamodb)


@pytest.fixture
def waiting(leases: LeaseBook) -> Lease:
    return leases.acquire(C, R, SCOPE, until=SOON)


@pytest.fixture
def claimed(leases: LeaseBook, waiting: Lease) -> Lease:
    return leases.claim(C, R, now=NOON, until=SOON)


def test_a_free_conversation_is_taken_by_a_run_that_waits(leases: LeaseBook) -> None:
    lease = leases.acquire(C, R, SCOPE, until=SOON)

    bare = Lease(conversation_id=C, run_id=R, scope=SCOPE, token=0, until=SOON)
    assert replace(lease, reservation=None) == bare
    assert leases.find_lease(C) == lease


def test_a_conversation_nobody_took_has_no_lease(leases: LeaseBook) -> None:
    assert leases.find_lease(C) is None


@pytest.mark.req("A-LEASE-03")
def test_a_second_run_is_refused_and_told_who_has_the_conversation(leases: LeaseBook, waiting: Lease) -> None:
    with pytest.raises(TurnInProgress) as refused:
        leases.acquire(C, S, SCOPE, until=LATER)

    assert refused.value.held == waiting
    assert leases.find_lease(C) == waiting


def test_a_lapsed_lease_still_keeps_another_run_out(leases: LeaseBook) -> None:
    lapsed = leases.acquire(C, R, SCOPE, until=NOON - timedelta(days=2))

    with pytest.raises(TurnInProgress) as refused:
        leases.acquire(C, S, SCOPE, until=LATER)

    assert refused.value.held == lapsed


def test_the_same_run_gets_its_lease_again_as_it_is(leases: LeaseBook, claimed: Lease) -> None:
    assert leases.acquire(C, R, SCOPE, until=LATER) == claimed
    assert leases.find_lease(C) == claimed


def test_two_conversations_do_not_hinder_each_other(leases: LeaseBook, waiting: Lease) -> None:
    other = leases.acquire(ConversationId("c-2"), S, SCOPE, until=SOON)

    assert leases.find_lease(C) == waiting
    assert leases.find_lease(ConversationId("c-2")) == other


def test_the_first_worker_claims_a_waiting_run_at_once(leases: LeaseBook, waiting: Lease) -> None:
    claimed = leases.claim(C, R, now=NOON, until=LATER)

    assert claimed == replace(waiting, token=1, until=LATER)
    assert leases.find_lease(C) == claimed


@pytest.mark.parametrize("run", [R, S])
def test_a_live_worker_cannot_be_displaced(leases: LeaseBook, claimed: Lease, run: RunId) -> None:
    with pytest.raises(LeaseLost):
        leases.claim(C, run, now=SOON - TICK, until=LATER)

    assert leases.find_lease(C) == claimed


def test_the_worker_that_follows_a_dead_one_gets_a_higher_token(leases: LeaseBook, claimed: Lease) -> None:
    successor = leases.claim(C, R, now=SOON, until=LATER)

    assert successor == replace(claimed, token=2, until=LATER)


def test_a_run_without_a_lease_cannot_be_claimed(leases: LeaseBook) -> None:
    with pytest.raises(LeaseLost):
        leases.claim(C, R, now=NOON, until=LATER)


def test_another_run_cannot_claim_even_a_lapsed_lease(leases: LeaseBook, claimed: Lease) -> None:
    with pytest.raises(LeaseLost):
        leases.claim(C, S, now=LATER, until=LATER + timedelta(hours=1))


def test_a_holder_stays_alive_by_renewing(leases: LeaseBook, claimed: Lease) -> None:
    renewed = leases.renew(claimed, until=LATER)

    assert renewed == replace(claimed, until=LATER)
    with pytest.raises(LeaseLost):
        leases.claim(C, R, now=SOON, until=LATER)


def test_a_holder_that_was_succeeded_cannot_renew(leases: LeaseBook, claimed: Lease) -> None:
    successor = leases.claim(C, R, now=SOON, until=LATER)

    with pytest.raises(LeaseLost):
        leases.renew(claimed, until=LATER + timedelta(hours=1))

    assert leases.find_lease(C) == successor


def test_a_released_lease_cannot_be_renewed(leases: LeaseBook, claimed: Lease) -> None:
    leases.release(claimed)

    with pytest.raises(LeaseLost):
        leases.renew(claimed, until=LATER)

    assert leases.find_lease(C) is None


def test_a_released_conversation_is_free_for_the_next_run(leases: LeaseBook, claimed: Lease) -> None:
    assert leases.release(claimed) is True

    assert leases.acquire(C, S, SCOPE, until=LATER).token == 0


@pytest.mark.req("A-LEASE-07")
def test_only_the_holder_can_release(leases: LeaseBook, waiting: Lease) -> None:
    claimed = leases.claim(C, R, now=NOON, until=SOON)
    successor = leases.claim(C, R, now=SOON, until=LATER)

    released = [leases.release(stale) for stale in (waiting, claimed, replace(successor, run_id=S))]

    assert released == [False, False, False]
    assert leases.find_lease(C) == successor


def test_a_lease_is_released_once(leases: LeaseBook, claimed: Lease) -> None:
    assert [leases.release(claimed), leases.release(claimed)] == [True, False]


def test_lapsed_leases_are_listed_waiting_ones_too(leases: LeaseBook) -> None:
    leases.acquire(C, R, SCOPE, until=SOON)
    leases.claim(C, R, now=NOON, until=SOON)
    leases.acquire(ConversationId("c-2"), S, SCOPE, until=SOON)
    leases.acquire(ConversationId("c-3"), RunId("r-3"), SCOPE, until=SOON + TICK)

    lapsed = leases.list_lapsed(now=SOON, limit=10)

    assert {lease.run_id: lease.token for lease in lapsed} == {R: 1, S: 0}
    assert leases.list_lapsed(now=SOON - TICK, limit=10) == ()


def test_no_more_lapsed_leases_are_listed_than_asked_for(leases: LeaseBook) -> None:
    for number in range(5):
        leases.acquire(ConversationId(f"c-{number}"), RunId(f"r-{number}"), SCOPE, until=NOON)

    assert len(leases.list_lapsed(now=NOON, limit=3)) == 3
    assert len(leases.list_lapsed(now=NOON, limit=5)) == 5


def test_lapsed_leases_are_found_behind_megabytes_of_live_ones(leases: LeaseBook) -> None:
    wide = replace(SCOPE, project_ids=tuple(ProjectId(f"{number:0>100}") for number in range(2_000)))
    for number in range(7):  # 0.2 MB each; a page of a scan has 1 MB
        until = NOON if number % 3 == 0 else LATER
        leases.acquire(ConversationId(f"c-{number}"), RunId(f"r-{number}"), wide, until=until)

    lapsed = leases.list_lapsed(now=NOON, limit=10)

    assert {lease.run_id for lease in lapsed} == {"r-0", "r-3", "r-6"}


@pytest.mark.req("A-LEASE-03")
def test_of_runs_that_want_a_conversation_at_one_moment_one_gets_it(leases: LeaseBook) -> None:
    runs = [RunId(f"r-{number}") for number in range(4)]

    won, lost = race(*(lambda run=run: leases.acquire(C, run, SCOPE, until=LATER) for run in runs))

    assert [leases.find_lease(C)] == won
    assert [type(refused) for refused in lost] == [TurnInProgress] * 3


def test_of_workers_that_want_a_lapsed_run_at_one_moment_one_gets_it(
    leases: LeaseBook, claimed: Lease
) -> None:
    won, lost = race(*[lambda: leases.claim(C, R, now=SOON, until=LATER)] * 4)

    assert won == [replace(claimed, token=2, until=LATER)]
    assert [type(refused) for refused in lost] == [LeaseLost] * 3


def test_of_a_renewal_and_a_claim_at_one_moment_one_succeeds(leases: LeaseBook, claimed: Lease) -> None:
    won, lost = race(
        lambda: leases.renew(claimed, until=LATER), lambda: leases.claim(C, R, now=SOON, until=LATER)
    )

    assert [leases.find_lease(C)] == won
    assert [type(refused) for refused in lost] == [LeaseLost]

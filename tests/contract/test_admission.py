"""AdmissionPort: over memory and over DynamoDB."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from equerry.adapters.aws.admission import DynamoAdmissionAdapter
from equerry.adapters.aws.leases import DynamoLeaseAdapter
from equerry.adapters.aws.usage import organisation_key, read_window
from equerry.domain.admission import Admission, AdmissionRequest
from equerry.domain.budget import DailyLimitReached, derive_hour
from equerry.domain.leases import Lease, TurnInProgress
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Scope
from equerry.domain.rates import RateLimited
from equerry.domain.submissions import KEPT, KeyReused, Submission, SubmissionInProgress
from equerry.kernel.errors import EquerryError
from equerry.kernel.identifiers import ConversationId, OrganisationId, RunId, UserId
from equerry.ports.admission import AdmissionPort
from equerry.ports.leases import LeasePort

from tests.contract.aws_backends import BACKENDS, create_table, new_identifier, start_aws
from tests.contract.leasing import create_admissions
from tests.contract.racing import race
from tests.fakes.admission import MemoryAdmissionAdapter
from tests.fakes.clock import NOON
from tests.fakes.leases import MemoryLeaseAdapter

ACME, GLOBEX = OrganisationId("acme"), OrganisationId("globex")
ANN = Scope(organisation_id=ACME, user_id=UserId("ann"))
BEN = Scope(organisation_id=ACME, user_id=UserId("ben"))
EVE = Scope(organisation_id=GLOBEX, user_id=UserId("ann"))
LIMITS = TurnLimits()
MUCH = 10**6
FAST = replace(LIMITS, user_turns_per_minute=MUCH, organisation_turns_per_minute=MUCH)
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
BEFORE_ONE = NOON + HOUR - timedelta(milliseconds=1)
AFTER_ONE = NOON + HOUR
NOON_HOUR = derive_hour(NOON)
KEY = Submission(digest="d" * 64, fingerprint="f" * 64)
_runs = itertools.count()


@dataclass(frozen=True)
class Counters:
    """Admission, with a look at what it left in the store."""

    port: AdmissionPort
    leases: LeasePort
    read_hours: Callable[[OrganisationId], Mapping[int, int]]

    def admit(
        self,
        scope: Scope = ANN,
        *,
        now: datetime = NOON,
        limits: TurnLimits = FAST,
        conversation: str | None = None,
        submission: Submission | None = None,
        superseded: RunId | None = None,
    ) -> Admission:
        """Admit a new run, in a conversation of its own unless one is named."""
        number = next(_runs)
        return self.port.admit(
            AdmissionRequest(
                scope=scope,
                conversation_id=ConversationId(conversation or f"c-{number}"),
                run_id=RunId(f"r-{number}"),
                now=now,
                until=now + timedelta(seconds=330),
                limits=limits,
                submission=submission,
                superseded=superseded,
            )
        )

    def spent(self, organisation_id: OrganisationId = ACME) -> int:
        return sum(self.read_hours(organisation_id).values())


@pytest.fixture(params=["memory", *BACKENDS])
def counters(request: pytest.FixtureRequest) -> Iterator[Counters]:
    if request.param == "memory":
        memory = MemoryLeaseAdapter()
        fake = MemoryAdmissionAdapter(memory)
        yield Counters(fake, memory, lambda org: fake.windows[org].hours if org in fake.windows else {})
        return
    with start_aws(request.param) as clients:
        leases, usage = create_table(clients.dynamodb, sort=None), create_table(clients.dynamodb, sort="S")
        adapter: DynamoAdmissionAdapter = create_admissions(clients.dynamodb, leases=leases, usage=usage)

        def read_hours(organisation_id: OrganisationId) -> Mapping[int, int]:
            key = organisation_key(organisation_id)
            answer = clients.dynamodb.get_item(TableName=usage, Key=key, ConsistentRead=True)
            return read_window(answer.get("Item")).hours

        yield Counters(adapter, DynamoLeaseAdapter(clients.dynamodb, leases, new_identifier), read_hours)


@pytest.mark.req("A-BUDG-01", "A-DATA-09")
def test_a_turn_takes_its_conversation_and_reserves_its_tokens_in_one_call(counters: Counters) -> None:
    admitted = counters.admit(limits=LIMITS)

    assert counters.leases.find_lease(admitted.lease.conversation_id) == admitted.lease
    assert admitted.lease.token == 0
    assert admitted.lease.reservation is not None
    assert (admitted.lease.reservation.input_tokens, admitted.lease.reservation.output_tokens) == (
        150_000,
        8_000,
    )
    assert counters.read_hours(ACME) == {NOON_HOUR: 158_000}
    assert [(s.subject, s.quota, s.remaining) for s in admitted.standings] == [
        ("user", 20, 19),
        ("organisation", 120, 119),
    ]


def test_the_same_run_again_is_admitted_once(counters: Counters) -> None:
    request = AdmissionRequest(
        scope=ANN,
        conversation_id=ConversationId("c"),
        run_id=RunId("r"),
        now=NOON,
        until=NOON + MINUTE,
        limits=LIMITS,
    )

    first, second = counters.port.admit(request), counters.port.admit(request)

    assert second == first
    assert counters.spent() == 158_000


@pytest.mark.req("A-GUARD-04")
def test_a_person_s_21st_turn_within_a_minute_is_refused(counters: Counters) -> None:
    limits = replace(LIMITS, daily_tokens=10**9)
    for second in range(20):
        counters.admit(now=NOON + second * SECOND, limits=limits)

    with pytest.raises(RateLimited) as refused:
        counters.admit(now=NOON + 30 * SECOND, limits=limits)

    assert (refused.value.standing.subject, refused.value.retry_after_s) == ("user", 30)
    counters.admit(BEN, now=NOON + 30 * SECOND, limits=limits)
    counters.admit(EVE, now=NOON + 30 * SECOND, limits=limits)
    counters.admit(now=NOON + 60 * SECOND, limits=limits)
    assert counters.spent() == 22 * 158_000


@pytest.mark.req("A-GUARD-05", "A-GUARD-07", "A-DATA-09")
def test_an_organisation_s_121st_turn_within_a_minute_is_refused_whoever_asks(counters: Counters) -> None:
    limits = replace(LIMITS, daily_tokens=10**9)
    for number in range(120):
        counters.admit(replace(ANN, user_id=UserId(f"u-{number % 8}")), limits=limits)

    with pytest.raises(RateLimited) as refused:
        counters.admit(replace(ANN, user_id=UserId("new")), limits=limits)

    assert refused.value.standing.subject == "organisation"
    counters.admit(EVE, limits=limits)


@pytest.mark.req("A-GUARD-01")
def test_of_several_refusals_the_first_in_the_order_is_told(counters: Counters) -> None:
    """Everything stands against the turn; what was told is put right, one after the other."""
    counters.admit(conversation="taken", submission=KEY)
    everything = TurnLimits(user_turns_per_minute=1, organisation_turns_per_minute=1, daily_tokens=160_000)
    told = list[str]()
    submission: Submission | None = replace(KEY, fingerprint="0" * 64)
    limits = everything
    for _ in range(5):
        with pytest.raises(EquerryError) as refused:
            counters.admit(conversation="taken", submission=submission, limits=limits)
        match refused.value:
            case KeyReused():
                submission = None
            case RateLimited(standing=standing) if standing.subject == "user":
                limits = replace(limits, user_turns_per_minute=MUCH)
            case RateLimited():
                limits = replace(limits, organisation_turns_per_minute=MUCH)
            case DailyLimitReached():
                limits = replace(limits, daily_tokens=LIMITS.daily_tokens)
        told.append(type(refused.value).__name__)

    assert told == ["KeyReused", "RateLimited", "RateLimited", "DailyLimitReached", "TurnInProgress"]


def test_a_turn_that_is_refused_counts_nowhere(counters: Counters) -> None:
    taken = counters.admit(conversation="taken", limits=LIMITS)
    for _ in range(30):
        with pytest.raises(TurnInProgress) as refused:
            counters.admit(conversation="taken", limits=LIMITS)
        assert refused.value.held == taken.lease

    assert counters.spent() == 158_000
    assert counters.admit(limits=LIMITS).standings[0].remaining == 18


@pytest.mark.req("A-BUDG-05", "A-GUARD-06")
def test_what_is_left_of_the_budget_makes_a_smaller_turn_and_then_none(counters: Counters) -> None:
    admitted = [counters.admit() for _ in range(13)]

    last = admitted[-1].lease.reservation
    assert last is not None
    assert (last.full, last.tokens) == (False, 104_000)
    assert last.output_tokens < 8_000
    with pytest.raises(DailyLimitReached):
        counters.admit()
    counters.admit(EVE)


@pytest.mark.req("A-BUDG-02")
def test_what_was_not_spent_goes_back_to_the_hour_it_came_from(counters: Counters) -> None:
    early = counters.admit(now=BEFORE_ONE).lease
    late = counters.admit(now=AFTER_ONE).lease

    assert counters.port.settle(early, spent=1_000)
    assert counters.port.settle(late, spent=2_000)

    assert counters.read_hours(ACME) == {NOON_HOUR: 1_000, NOON_HOUR + 1: 2_000}
    assert counters.leases.find_lease(early.conversation_id) is None


def test_a_reservation_is_settled_once(counters: Counters) -> None:
    lease = counters.admit().lease

    assert [counters.port.settle(lease, spent=spent) for spent in (10, 10, 0)] == [True, False, False]
    assert counters.spent() == 10


def test_only_the_holder_settles(counters: Counters) -> None:
    lease = counters.admit().lease
    claimed = counters.leases.claim(lease.conversation_id, lease.run_id, now=NOON, until=NOON + MINUTE)

    assert claimed.reservation == lease.reservation
    assert not counters.port.settle(lease, spent=0)
    assert counters.spent() == 158_000
    renewed = counters.leases.renew(claimed, until=NOON + HOUR)
    assert counters.port.settle(renewed, spent=0)
    assert counters.spent() == 0


@pytest.mark.req("A-BUDG-08")
def test_where_nobody_knows_what_was_spent_all_of_it_leaves_with_its_hour(counters: Counters) -> None:
    for _ in range(12):
        assert counters.port.settle(counters.admit().lease, spent=None)
    assert counters.spent() == 12 * 158_000

    later = NOON + timedelta(hours=25)
    with pytest.raises(DailyLimitReached):
        counters.admit(now=later - SECOND, limits=replace(FAST, daily_tokens=1_900_000))
    reservation = counters.admit(now=later).lease.reservation
    assert reservation is not None
    assert reservation.full


def test_a_turn_that_spent_more_than_it_reserved_is_charged_for_it(counters: Counters) -> None:
    assert counters.port.settle(counters.admit().lease, spent=200_000)
    assert counters.spent() == 200_000


def test_a_refund_to_an_hour_that_is_forgotten_frees_the_conversation(counters: Counters) -> None:
    old = counters.admit().lease
    counters.admit(now=NOON + timedelta(hours=50))

    assert counters.port.settle(old, spent=0)
    assert counters.leases.find_lease(old.conversation_id) is None
    assert counters.read_hours(ACME).get(NOON_HOUR, 0) == 0


def test_a_lease_from_before_there_were_budgets_is_only_freed(counters: Counters) -> None:
    lease: Lease = counters.admit().lease

    assert counters.port.settle(replace(lease, reservation=None), spent=5)
    assert counters.spent() == 158_000


def test_a_key_stands_for_one_run_for_a_day_whatever_the_store_still_has(counters: Counters) -> None:
    first = counters.admit(submission=KEY)
    with pytest.raises(SubmissionInProgress) as repeated:
        counters.admit(conversation=first.lease.conversation_id, submission=KEY)
    assert repeated.value.first.run_id == first.lease.run_id
    with pytest.raises(KeyReused):
        counters.admit(submission=replace(KEY, fingerprint="0" * 64))
    counters.admit(submission=replace(KEY, digest="e" * 64))

    with pytest.raises(SubmissionInProgress):
        counters.admit(submission=KEY, now=NOON + KEPT - SECOND)
    counters.admit(submission=KEY, now=NOON + KEPT)


def test_a_run_that_never_began_gives_its_key_to_the_next(counters: Counters) -> None:
    first = counters.admit(submission=KEY)
    second = counters.admit(submission=KEY, superseded=first.lease.run_id)

    with pytest.raises(SubmissionInProgress) as repeated:
        counters.admit(submission=KEY, superseded=first.lease.run_id)
    assert repeated.value.first.run_id == second.lease.run_id


def test_of_a_question_sent_several_times_at_one_moment_one_is_admitted(counters: Counters) -> None:
    won, lost = race(*[lambda: counters.admit(submission=KEY)] * 6)

    assert len(won) == 1
    assert {type(refused) for refused in lost} == {SubmissionInProgress}
    assert counters.spent() == 158_000


@pytest.mark.req("A-BUDG-03")
def test_an_organisation_seen_for_the_first_time_by_many_at_once_has_a_budget(counters: Counters) -> None:
    limits = replace(FAST, daily_tokens=400_000)

    won, lost = race(*[lambda: counters.admit(limits=limits)] * 8)

    assert counters.spent() == 400_000  # two whole turns and a smaller one
    assert len(won) == 3
    assert {type(refused) for refused in lost} == {DailyLimitReached}


@pytest.mark.req("A-GUARD-07")
def test_a_person_seen_for_the_first_time_by_many_at_once_has_a_rate(counters: Counters) -> None:
    limits = replace(LIMITS, user_turns_per_minute=2, daily_tokens=10**9)

    won, lost = race(*[lambda: counters.admit(limits=limits)] * 8)

    assert len(won) == 2
    assert {type(refused) for refused in lost} == {RateLimited}


def test_the_budget_can_be_spent_to_the_last_token_and_no_further(counters: Counters) -> None:
    limits = replace(FAST, daily_tokens=4 * FAST.turn_tokens)

    won, lost = race(*[lambda: counters.admit(limits=limits)] * 6)

    assert len(won) == 4
    assert len(lost) == 2
    assert counters.spent() == limits.daily_tokens


@pytest.mark.req("A-BUDG-03")
@pytest.mark.parametrize("round_number", range(4))
def test_no_interleaving_around_an_hour_change_passes_the_window_and_nothing_leaks(
    counters: Counters, round_number: int
) -> None:
    limits = replace(FAST, daily_tokens=5 * FAST.turn_tokens)
    moments = [BEFORE_ONE, AFTER_ONE, AFTER_ONE + timedelta(seconds=round_number)]
    held = [counters.admit(now=BEFORE_ONE, limits=limits).lease for _ in range(2)]
    seen, kept = list[int](), list[int]()

    def settle(lease: Lease, spent: int) -> Lease:
        assert counters.port.settle(lease, spent=spent)
        kept.append(spent)
        return lease

    def turn(number: int) -> Lease:
        lease = counters.admit(now=moments[number % 3], limits=limits).lease
        seen.append(counters.spent())
        return settle(lease, 1_000) if number % 2 else lease

    turns = [lambda number=number: turn(number) for number in range(8)]
    won, lost = race(*turns, *(lambda lease=lease: settle(lease, 500) for lease in held))

    assert max(seen) <= limits.daily_tokens
    assert {type(refused) for refused in lost} <= {DailyLimitReached}
    for lease in won:
        counters.port.settle(lease, spent=0)  # those that still run
    assert counters.spent() == sum(kept)
    assert all(counters.leases.find_lease(lease.conversation_id) is None for lease in won)

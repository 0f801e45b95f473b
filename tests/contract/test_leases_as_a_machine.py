"""Whatever is done to a lease in whatever order, at most one live holder exists and tokens only grow."""

import itertools
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from equerry.domain.leases import Lease, LeaseLost, TurnInProgress
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ConversationId, OrganisationId, RunId, UserId
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.contract.aws_backends import BACKENDS, start_aws
from tests.contract.leasing import LeaseBook, create_lease_book
from tests.fakes.admission import MemoryAdmissionAdapter
from tests.fakes.clock import NOON
from tests.fakes.leases import MemoryLeaseAdapter

SCOPE = Scope(organisation_id=OrganisationId("acme"), user_id=UserId("ann"))
RUNS = st.sampled_from([RunId("r-1"), RunId("r-2")])
SECONDS = st.integers(min_value=1, max_value=20)
_conversations = itertools.count()


class LeaseMachine(RuleBasedStateMachine):
    """One conversation, two runs, any number of workers that each trust the last lease they were given."""

    def __init__(self, leases: LeaseBook) -> None:
        super().__init__()
        self.leases = leases
        self.conversation = ConversationId(f"c-{next(_conversations)}")
        self.now: datetime = NOON
        self.truth: Lease | None = None
        self.given: list[Lease] = []
        self.highest: dict[RunId, int] = {}

    def _until(self, seconds: int) -> datetime:
        return self.now + timedelta(seconds=seconds)

    def _believe(self, lease: Lease) -> None:
        self.truth = lease
        self.given.append(lease)

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(run=RUNS, seconds=SECONDS)
    def a_run_acquires(self, run: RunId, seconds: int) -> None:
        try:
            lease = self.leases.acquire(self.conversation, run, SCOPE, until=self._until(seconds))
        except TurnInProgress as refusal:
            self._check_refusal(refusal, run)
            return
        if self.truth is None:
            assert lease.token == 0
            self.highest[run] = 0
        else:
            assert lease == self.truth
        self._believe(lease)

    @rule(run=RUNS, seconds=SECONDS)
    def a_worker_claims(self, run: RunId, seconds: int) -> None:
        held = self.truth
        free = held and held.run_id == run and (held.token == 0 or held.is_lapsed(self.now))
        try:
            lease = self.leases.claim(self.conversation, run, now=self.now, until=self._until(seconds))
        except LeaseLost:
            assert not free
            return
        assert free
        assert lease.token == self.highest[run] + 1
        self.highest[run] = lease.token
        self._believe(lease)

    @precondition(lambda self: self.given)
    @rule(data=st.data(), seconds=SECONDS)
    def somebody_renews(self, data: st.DataObject, seconds: int) -> None:
        lease = data.draw(st.sampled_from(self.given))
        try:
            renewed = self.leases.renew(lease, until=self._until(seconds))
        except LeaseLost:
            assert not self._holds(lease)
            return
        assert self._holds(lease)
        assert renewed == replace(lease, until=renewed.until)
        self._believe(renewed)

    @precondition(lambda self: self.given)
    @rule(data=st.data())
    def somebody_releases(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.given))
        assert self.leases.release(lease) is self._holds(lease)
        if self._holds(lease):
            self.truth = None

    @invariant()
    def the_store_says_what_the_last_success_said(self) -> None:
        assert self.leases.find_lease(self.conversation) == self.truth

    @invariant()
    def the_reaper_sees_it_exactly_when_it_lapsed(self) -> None:
        lapsed = self.leases.list_lapsed(now=self.now, limit=1_000)
        mine = [lease for lease in lapsed if lease.conversation_id == self.conversation]
        assert mine == ([self.truth] if self.truth and self.truth.is_lapsed(self.now) else [])

    def _check_refusal(self, refusal: TurnInProgress, run: RunId) -> None:
        assert refusal.held == self.truth
        assert refusal.held.run_id != run

    def _holds(self, lease: Lease) -> bool:
        held = self.truth
        return held is not None and (held.run_id, held.token) == (lease.run_id, lease.token)

    def teardown(self) -> None:
        if self.truth:
            self.leases.release(self.truth)


class MemoryLeaseMachine(LeaseMachine):
    def __init__(self) -> None:
        memory = MemoryLeaseAdapter()
        super().__init__(LeaseBook(memory, MemoryAdmissionAdapter(memory)))


def test_memory_never_has_two_holders() -> None:
    run_state_machine_as_test(MemoryLeaseMachine, settings=_settings(100, Phase.generate, Phase.shrink))


@pytest.mark.parametrize("backend", BACKENDS)
def test_dynamodb_never_has_two_holders(backend: str) -> None:
    with start_aws(backend) as clients:
        leases = create_lease_book(clients.dynamodb)

        class DynamoLeaseMachine(LeaseMachine):
            def __init__(self) -> None:
                super().__init__(leases)

        run_state_machine_as_test(DynamoLeaseMachine, settings=_settings(8, Phase.generate))


def _settings(examples: int, *phases: Phase) -> settings:
    # Shrinking a failure takes minutes over moto; memory finds the same ones.
    return settings(
        max_examples=examples,
        phases=phases,
        stateful_step_count=30,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )

"""Leases begin and end by admission; this admits without limits, for suites about the lease alone."""

from datetime import datetime
from typing import TYPE_CHECKING

from equerry.adapters.aws.admission import DynamoAdmissionAdapter
from equerry.adapters.aws.leases import DynamoLeaseAdapter
from equerry.domain.admission import AdmissionRequest
from equerry.domain.leases import Lease
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.ports.admission import AdmissionPort
from equerry.ports.leases import LeasePort

from tests.contract.aws_backends import create_table, new_identifier
from tests.fakes.clock import NOON, FixedClock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MUCH = 10**9
UNLIMITED = TurnLimits(user_turns_per_minute=MUCH, organisation_turns_per_minute=MUCH, daily_tokens=MUCH**2)


class LeaseBook:
    """LeasePort, and the beginning and end of its leases."""

    def __init__(self, leases: LeasePort, admissions: AdmissionPort) -> None:
        self._admissions = admissions
        self.find_lease = leases.find_lease
        self.claim = leases.claim
        self.renew = leases.renew
        self.list_lapsed = leases.list_lapsed

    def acquire(
        self, conversation_id: ConversationId, run_id: RunId, scope: Scope, *, until: datetime
    ) -> Lease:
        """Take a free conversation for a waiting run."""
        request = AdmissionRequest(
            scope=scope,
            conversation_id=conversation_id,
            run_id=run_id,
            now=NOON,
            until=until,
            limits=UNLIMITED,
        )
        return self._admissions.admit(request).lease

    def release(self, lease: Lease) -> bool:
        """Free the conversation."""
        return self._admissions.settle(lease, spent=0)


def create_lease_book(
    client: "DynamoDBClient", *, leases: str | None = None, usage: str | None = None
) -> LeaseBook:
    """Return a book over the tables of leases and usage, which are created unless they are named."""
    leases = leases or create_table(client, sort=None)
    admissions = create_admissions(client, leases=leases, usage=usage or create_table(client, sort="S"))
    return LeaseBook(DynamoLeaseAdapter(client, leases, new_identifier), admissions)


def create_admissions(client: "DynamoDBClient", *, leases: str, usage: str) -> DynamoAdmissionAdapter:
    """Return admission over two tables; its pauses take no time."""
    clock = FixedClock()
    return DynamoAdmissionAdapter(client, leases=leases, usage=usage, clock=clock, jitter=lambda: 0.0)

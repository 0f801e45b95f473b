"""EntitlementPort: over memory and over DynamoDB."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from equerry.adapters.aws.entitlements import DynamoEntitlementAdapter
from equerry.domain.billing import Entitlement
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId
from equerry.ports.entitlements import EntitlementPort

from tests.contract.aws_backends import BACKENDS, create_table, start_aws
from tests.fakes.clock import NOON
from tests.fakes.entitlements import MemoryEntitlementAdapter

Keep = Callable[[str, Entitlement], None]


@pytest.fixture(params=["memory", *BACKENDS])
def billing(request: pytest.FixtureRequest) -> Iterator[tuple[EntitlementPort, Keep]]:
    """The port, and what the product's billing does."""
    if request.param == "memory":
        memory = MemoryEntitlementAdapter()

        def remember(key: str, found: Entitlement) -> None:
            kind, name = key.split("#")
            if kind == "ORG":
                memory.organisations[OrganisationId(name)] = found
            else:
                memory.links[name] = found

        yield memory, remember
        return
    with start_aws(request.param) as clients:
        table = create_table(clients.dynamodb, sort=None)

        def put(key: str, found: Entitlement) -> None:
            until = {"until": {"N": str(found.until.timestamp())}} if found.until else {}
            item = {"pk": {"S": key}, "status": {"S": found.status}, **until}
            clients.dynamodb.put_item(TableName=table, Item=item)

        yield DynamoEntitlementAdapter(clients.dynamodb, table), put


def test_an_organisation_and_a_link_of_one_name_are_two_things(billing: tuple[EntitlementPort, Keep]) -> None:
    port, keep = billing
    plan = Entitlement(status="active", until=NOON + timedelta(days=30))
    keep("ORG#x", plan)
    keep("LINK#y", Entitlement(status="ended"))

    assert port.find_organisation(OrganisationId("x")) == plan
    assert port.find_link("y") == Entitlement(status="ended")
    assert port.find_organisation(OrganisationId("y")) is None
    assert port.find_link("x") is None


@pytest.mark.req("A-BILL-09")
def test_a_table_that_is_not_there_or_not_ours_to_read_is_an_outage() -> None:
    with start_aws("moto") as clients, pytest.raises(Unavailable):
        DynamoEntitlementAdapter(clients.dynamodb, "nowhere").find_link("l")

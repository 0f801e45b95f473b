"""TenancyPort: the same promises in memory and PostgreSQL."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.tenancies import PostgresTenancyAdapter
from equerry.domain.principal import Scope
from equerry.domain.tenancy import Tenancy
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId
from equerry.ports.tenancies import TenancyPort

from tests.contract.databases import Database, build_scope, new_organisation
from tests.fakes.tenancies import MemoryTenancyAdapter

State = Callable[[Scope, Tenancy], None]


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def office(request: pytest.FixtureRequest) -> Iterator[tuple[TenancyPort, State]]:
    """The port, and what an operator does."""
    if request.param == "memory":
        fake = MemoryTenancyAdapter()
        yield fake, lambda scope, tenancy: fake.known.update({scope.organisation_id: tenancy})
        return
    database: Database = request.getfixturevalue("database")
    platform = database.connect("equerry_platform")

    def state(scope: Scope, tenancy: Tenancy) -> None:
        with platform.across_tenants() as rows:
            rows.execute(
                "INSERT INTO assistant_tenancies (organisation_id, enabled, surfaces, profiles)"
                " VALUES (%s, %s, %s, %s)",
                (
                    scope.organisation_id,
                    tenancy.enabled,
                    None if tenancy.surfaces is None else list(tenancy.surfaces),
                    None if tenancy.profiles is None else list(tenancy.profiles),
                ),
            )

    yield PostgresTenancyAdapter(request.getfixturevalue("connections")), state
    platform.close()


@pytest.mark.req("F-GRANT-02")
@pytest.mark.parametrize(
    "tenancy", [Tenancy(enabled=False), Tenancy(surfaces=("panel",), profiles=()), Tenancy()]
)
def test_an_organisation_has_the_standing_that_was_stated_and_no_other_s(
    office: tuple[TenancyPort, State], tenancy: Tenancy
) -> None:
    port, state = office
    ada, other = build_scope(new_organisation()), build_scope(new_organisation())
    state(ada, tenancy)

    assert port.find_tenancy(ada) == tenancy
    assert port.find_tenancy(other) is None


@pytest.mark.postgres
def test_who_serves_requests_cannot_change_an_organisation_s_standing(
    connections: PostgresConnections,
) -> None:
    ada = build_scope(new_organisation())

    with pytest.raises(psycopg.errors.InsufficientPrivilege), connections.transaction(ada) as rows:
        rows.execute(
            "INSERT INTO assistant_tenancies (organisation_id, enabled) VALUES (%s, true)",
            (ada.organisation_id,),
        )


def test_a_store_that_does_not_answer_lets_nobody_in() -> None:
    fake = MemoryTenancyAdapter()
    fake.out = True

    with pytest.raises(Unavailable):
        fake.find_tenancy(build_scope(OrganisationId("acme")))

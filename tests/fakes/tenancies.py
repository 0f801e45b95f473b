"""Organisations' standings in memory."""

from equerry.domain.principal import Scope
from equerry.domain.tenancy import Tenancy
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId


class MemoryTenancyAdapter:
    """TenancyPort over a dictionary."""

    def __init__(self) -> None:
        self.known: dict[OrganisationId, Tenancy] = {}
        self.out = False

    def find_tenancy(self, scope: Scope) -> Tenancy | None:
        if self.out:
            raise Unavailable("the database does not answer")
        return self.known.get(scope.organisation_id)

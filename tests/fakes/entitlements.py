"""Entitlements in memory."""

from equerry.domain.billing import Entitlement
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId


class MemoryEntitlementAdapter:
    """EntitlementPort over two dictionaries; `asked` lists what was looked for, in order."""

    def __init__(self) -> None:
        self.organisations: dict[OrganisationId, Entitlement] = {}
        self.links: dict[str, Entitlement] = {}
        self.asked: list[str] = []
        self.out = False

    def find_organisation(self, organisation_id: OrganisationId) -> Entitlement | None:
        self._answer(f"ORG#{organisation_id}")
        return self.organisations.get(organisation_id)

    def find_link(self, link_id: str) -> Entitlement | None:
        self._answer(f"LINK#{link_id}")
        return self.links.get(link_id)

    def _answer(self, key: str) -> None:
        self.asked.append(key)
        if self.out:
            raise Unavailable("the entitlements do not answer")

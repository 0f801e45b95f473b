"""What the product's billing says organisations and links are entitled to."""

from typing import Protocol

from equerry.domain.billing import Entitlement
from equerry.kernel.identifiers import OrganisationId


class EntitlementPort(Protocol):
    """Entitlements, read anew each time: billing belongs to the product, and changes there."""

    def find_organisation(self, organisation_id: OrganisationId) -> Entitlement | None:
        """Return an organisation's own entitlement.

        Raises:
            Unavailable: unknown, or we may not look.
        """
        ...

    def find_link(self, link_id: str) -> Entitlement | None:
        """Return the state of a link, by which people of one company work in another.

        Raises:
            Unavailable: unknown, or we may not look.
        """
        ...

"""The billing guard, the last step of knowing who asks."""

from dataclasses import dataclass

from equerry.domain.billing import BillingRequired, BillingUnavailable, Entitlement
from equerry.domain.principal import Principal
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Unavailable
from equerry.ports.entitlements import EntitlementPort


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingService:
    """Lets through who is entitled.

    Attributes:
        entitlements: None where billing is not enforced; then everybody is let through.
    """

    entitlements: EntitlementPort | None
    clock: Clock

    def require_access(self, principal: Principal, *, writes: bool) -> None:
        """Let a request of a person's through; a read needs no entitlement of the organisation.

        Who works through a link needs that link for reads, too.

        Raises:
            BillingRequired: an entitlement is not current, or there is none.
            BillingUnavailable: nobody can say.
        """
        if self.entitlements is None:
            return
        try:
            if principal.link_id is not None:
                self._require(
                    self.entitlements.find_link(principal.link_id), "your link to this organisation"
                )
            if writes:
                organisation = principal.scope.organisation_id
                self._require(self.entitlements.find_organisation(organisation), "your organisation's plan")
        except Unavailable as out:
            raise BillingUnavailable from out

    def _require(self, found: Entitlement | None, what: str) -> None:
        if found is None or not found.is_current(self.clock.now()):
            raise BillingRequired(f"{what} is not current")

"""Whether somebody has paid: what a token says of it, and what the product's entitlements say."""

from dataclasses import dataclass
from datetime import datetime

from equerry.kernel.errors import Refused, Unavailable
from equerry.kernel.kinds import record, value

_CURRENT = frozenset({"active", "trialing"})


class BillingRequired(Refused):
    """What the organisation, or its link to another, is entitled to is not current."""

    code = "billing_required"


class BillingUnavailable(Unavailable):
    """Nobody can say what the person is entitled to, so nothing is done for them."""

    code = "billing_unavailable"

    def __init__(self) -> None:
        super().__init__("your organisation's entitlement cannot be read right now; try again")


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class BillingAccess:
    """What a token's billing claim says."""

    status: str
    plan: str | None = None


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class Entitlement:
    """What the product's billing keeps for an organisation or a link; `until` is aware, None has no end."""

    status: str
    until: datetime | None = None

    def is_current(self, now: datetime) -> bool:
        """Whether it holds."""
        return self.status in _CURRENT and (self.until is None or now < self.until)

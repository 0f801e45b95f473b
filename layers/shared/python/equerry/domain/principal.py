"""Who is asking, and for whom the stores may answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from equerry.domain.billing import BillingAccess
from equerry.kernel.errors import Refused
from equerry.kernel.identifiers import OrganisationId, ProjectId, UserId
from equerry.kernel.kinds import value

Role = Literal["member", "admin"]


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What every store is told before it answers; the database's policies read exactly this."""

    organisation_id: OrganisationId
    user_id: UserId
    role: Role = "member"
    project_ids: tuple[ProjectId, ...] = ()


class AdminRequired(Refused):
    """The route is for administrators of the organisation."""

    code = "admin_required"


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A verified person.

    Attributes:
        expires_at: when their token ends (aware, UTC).
        billing: what their token says of billing; None if it says nothing.
        link_id: of the link by which they work in an organisation that is not their own.
    """

    scope: Scope
    expires_at: datetime
    name: str | None = None
    billing: BillingAccess | None = None
    link_id: str | None = None

    def require_admin(self) -> None:
        """Raise AdminRequired unless the principal administers the organisation."""
        if self.scope.role != "admin":
            raise AdminRequired("this needs the role 'admin' in your organisation")


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCaller:
    """A verified service of the product's, which speaks for no person and no organisation.

    Attributes:
        scopes: what its issuer lets it do, in the token's order.
        expires_at: when its token ends (aware, UTC).
    """

    service_id: str
    scopes: tuple[str, ...]
    expires_at: datetime

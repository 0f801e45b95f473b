"""For whom a service calls."""

from dataclasses import dataclass

from equerry.domain.principal import Principal
from equerry.kernel.errors import Refused, Unauthenticated
from equerry.kernel.kinds import result
from equerry.ports.identity import IdentityPort


@result
@dataclass(frozen=True, slots=True)
class ForwardedAbsent:
    """The service names no person: answer `actor_required` where one is needed."""


@result
@dataclass(frozen=True, slots=True)
class ForwardedVerified:
    """The service calls for this person."""

    principal: Principal


@result
@dataclass(frozen=True, slots=True)
class ForwardedRefused:
    """What the service forwards is no person's valid token: refuse the call, whatever it is for."""

    code: str


ForwardedUser = ForwardedAbsent | ForwardedVerified | ForwardedRefused


def verify_forwarded_user(token: str | None, identity: IdentityPort) -> ForwardedUser:
    """Verify a forwarded token as any other; None stands for none.

    Raises:
        Unavailable: the issuer's keys cannot be had, so nobody knows.
    """
    if token is None:
        return ForwardedAbsent()
    try:
        return ForwardedVerified(identity.verify(token))
    except (Unauthenticated, Refused) as refusal:
        return ForwardedRefused(refusal.code)

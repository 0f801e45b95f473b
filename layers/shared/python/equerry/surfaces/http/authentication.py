"""Who sends a request, and for whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from equerry.domain.principal import Principal
from equerry.kernel.errors import Refused, Unauthenticated
from equerry.kernel.kinds import result
from equerry.ports.identity import IdentityPort

FORWARDED_USER: Final = "x-forwarded-user"
"""Holds the token of the person for whom a service calls."""


def read_bearer(headers: Mapping[str, str]) -> str:
    """Return the token of the Authorization header; names in `headers` are in lower case.

    Raises:
        Unauthenticated: no header, another scheme, or no token could look so.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip() or not token.isascii():
        raise Unauthenticated("send your token in the header 'Authorization: Bearer <token>'")
    return token.strip()


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


def verify_forwarded_user(headers: Mapping[str, str], identity: IdentityPort) -> ForwardedUser:
    """Verify the token of the header `x-forwarded-user` as any other; names in `headers` are in lower case.

    Raises:
        Unavailable: the issuer's keys cannot be had, so nobody knows.
    """
    token = headers.get(FORWARDED_USER)
    if token is None:
        return ForwardedAbsent()
    try:
        return ForwardedVerified(identity.verify(token.strip()))
    except (Unauthenticated, Refused) as refusal:
        return ForwardedRefused(refusal.code)

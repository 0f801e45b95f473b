"""What a token must say, and must not: the strict schema of user and service tokens.

Claims this service does not know are ignored; the ones it knows must be of the right form.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from equerry.domain.billing import BillingAccess
from equerry.domain.principal import Principal, Role, Scope, ServiceCaller
from equerry.kernel.errors import Refused, Unauthenticated
from equerry.kernel.identifiers import OrganisationId, ProjectId, UserId

LEEWAY_S = 30.0
"""How far the issuer's clock and ours may differ."""
MAX_NAME_CHARS = 200
_LAST_SECOND = 253_402_300_799  # of the year 9999
_ID = re.compile(r"[\w.@|:+=~-]{1,128}", re.ASCII)
"""No comma or slash: ids are joined with commas in database settings and with slashes in object keys."""


class OrganisationRequired(Refused):
    """The person belongs to no organisation."""

    code = "organisation_required"


class UserRequired(Refused):
    """A service's token, where only a person's will do."""

    code = "user_required"


class ServiceRequired(Refused):
    """A person's token, where only a service's will do."""

    code = "service_required"


class ClaimsRefused(Unauthenticated):
    """The signature holds, but the claims do not fit; the message names the claim, never its value."""


def parse_principal(claims: Mapping[str, Any], *, audience: str, now: datetime) -> Principal:
    """Return who verified claims speak for.

    Raises:
        ClaimsRefused: out of their time, or not of the schema.
        UserRequired: a valid service token.
        OrganisationRequired: a valid user token without an organisation.
    """
    found = _parse(claims, audience, now)
    if isinstance(found, ServiceCaller):
        raise UserRequired("this needs a person's token, not a service's")
    return found


def parse_service(claims: Mapping[str, Any], *, audience: str, now: datetime) -> ServiceCaller:
    """Return which service verified claims speak for.

    Raises:
        ClaimsRefused: out of their time, or not of the schema.
        ServiceRequired: a valid user token.
        OrganisationRequired: a valid user token without an organisation.
    """
    found = _parse(claims, audience, now)
    if isinstance(found, Principal):
        raise ServiceRequired("this needs a service's token, not a person's")
    return found


def _parse(claims: Mapping[str, Any], audience: str, now: datetime) -> Principal | ServiceCaller:
    expires_at = _check_times(claims, now)
    match claims.get("typ"):
        case "user":
            return _parse_user(claims, expires_at)
        case "service":
            return _parse_service(claims, audience, expires_at)
    raise ClaimsRefused("the token's typ must be 'user' or 'service'")


def _parse_user(claims: Mapping[str, Any], expires_at: datetime) -> Principal:
    _forbid(claims, "scope", "user")
    user_id, role, projects = _id(claims, "sub"), claims.get("role"), claims.get("projects", [])
    if role not in ("member", "admin"):
        raise ClaimsRefused("the token's role must be 'member' or 'admin'")
    if not isinstance(projects, list) or not all(_is_id(project) for project in projects):
        raise ClaimsRefused("the token's projects must be a list of ids")
    if claims.get("org") in (None, ""):
        raise OrganisationRequired("your account belongs to no organisation")
    return Principal(
        scope=Scope(
            organisation_id=OrganisationId(_id(claims, "org")),
            user_id=UserId(user_id),
            role=cast("Role", role),
            project_ids=tuple(ProjectId(project) for project in dict.fromkeys(projects)),
        ),
        expires_at=expires_at,
        name=_name(claims),
        billing=_billing(claims),
        link_id=_id(claims, "via") if "via" in claims else None,
    )


def _parse_service(claims: Mapping[str, Any], audience: str, expires_at: datetime) -> ServiceCaller:
    _forbid(claims, "role", "service")
    service_id, scope = _id(claims, "sub"), claims.get("scope")
    if not isinstance(claims["aud"], list) or audience not in claims["aud"]:
        raise ClaimsRefused("a service token's aud must be a list that names this service")
    if not isinstance(scope, str):
        raise ClaimsRefused("a service token's scope must be text")
    return ServiceCaller(service_id=service_id, scopes=tuple(scope.split()), expires_at=expires_at)


def _check_times(claims: Mapping[str, Any], now: datetime) -> datetime:
    now_s = now.timestamp()
    expires_s = _seconds(claims, "exp")
    if expires_s + LEEWAY_S <= now_s:
        raise ClaimsRefused("the token has expired")
    if (
        _seconds(claims, "iat") - LEEWAY_S > now_s
        or _seconds(claims, "nbf", default=now_s) - LEEWAY_S > now_s
    ):
        raise ClaimsRefused("the token is not valid yet")
    return datetime.fromtimestamp(expires_s, UTC)


def _seconds(claims: Mapping[str, Any], name: str, *, default: float | None = None) -> float:
    moment = claims.get(name, default)
    if isinstance(moment, bool) or not isinstance(moment, int | float):
        raise ClaimsRefused(f"the token's {name} must be a number")
    if not 0 <= moment <= _LAST_SECOND:  # false for NaN
        raise ClaimsRefused(f"the token's {name} is no moment")
    return float(moment)


def _id(claims: Mapping[str, Any], name: str) -> str:
    text = claims.get(name)
    if not _is_id(text):
        raise ClaimsRefused(f"the token's {name} must be an id of at most 128 characters")
    return cast("str", text)


def _is_id(text: object) -> bool:
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def _name(claims: Mapping[str, Any]) -> str | None:
    name = claims.get("name")
    if name is not None and not isinstance(name, str):
        raise ClaimsRefused("the token's name must be text")
    return name[:MAX_NAME_CHARS] if name else None


def _billing(claims: Mapping[str, Any]) -> BillingAccess | None:
    """Return the optional claim where it is of its form; nothing is decided by it."""
    claim = claims.get("billing")
    if not isinstance(claim, dict):
        return None
    status, plan = claim.get("status"), claim.get("plan")
    if not _is_id(status) or not (plan is None or _is_id(plan)):
        return None
    return BillingAccess(status=str(status), plan=None if plan is None else str(plan))


def _forbid(claims: Mapping[str, Any], name: str, kind: str) -> None:
    if name in claims:
        raise ClaimsRefused(f"a {kind} token must not carry {name}")

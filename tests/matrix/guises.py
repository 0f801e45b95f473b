"""Who may call at all: each way to come without a person's valid token, and what it is told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from equerry.surfaces.http.authentication import FORWARDED_USER

from tests.matrix.people import Person

Sign = Callable[..., str]
"""Signs for a person; further claims add to it or replace, None takes one away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guise:
    """How somebody comes, and how every route that needs a person refuses them."""

    name: str
    headers: Callable[[Sign, Person], Mapping[str, str]]
    status: int
    code: str


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def _sign_service(sign: Sign, person: Person) -> dict[str, str]:
    # It names an organisation, which makes no exception.
    return _bearer(sign(person, typ="service", role=None, scope="everything"))


GUISES = (
    Guise(name="no token", headers=lambda *_: {}, status=401, code="unauthenticated"),
    Guise(
        name="a token that nobody signed",
        headers=lambda sign, person: _bearer(sign(person)[:-8] + "AAAAAAAA"),
        status=401,
        code="unauthenticated",
    ),
    Guise(
        name="a token past its end",
        headers=lambda sign, person: _bearer(sign(person, iat=1_000_000_000, exp=1_000_003_600)),
        status=401,
        code="unauthenticated",
    ),
    Guise(
        name="a valid token without an organisation",
        headers=lambda sign, person: _bearer(sign(person, org=None)),
        status=403,
        code="organisation_required",
    ),
    Guise(name="a service's valid token", headers=_sign_service, status=403, code="user_required"),
    Guise(
        name="a service's valid token, with a person's in `x-forwarded-user`",
        headers=lambda sign, person: {**_sign_service(sign, person), FORWARDED_USER: sign(person)},
        status=403,
        code="user_required",
    ),
)

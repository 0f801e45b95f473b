"""Who sends a request, and for whom."""

from collections.abc import Mapping
from typing import Final

from equerry.kernel.errors import Unauthenticated

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


def read_forwarded_user(headers: Mapping[str, str]) -> str | None:
    """Return the token of the person for whom a service calls; None where it names nobody."""
    token = headers.get(FORWARDED_USER)
    return None if token is None else token.strip()

"""The bearer token of a request."""

from collections.abc import Mapping

from equerry.kernel.errors import Unauthenticated


def read_bearer(headers: Mapping[str, str]) -> str:
    """Return the token of the Authorization header; names in `headers` are in lower case.

    Raises:
        Unauthenticated: no header, another scheme, or no token could look so.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip() or not token.isascii():
        raise Unauthenticated("send your token in the header 'Authorization: Bearer <token>'")
    return token.strip()

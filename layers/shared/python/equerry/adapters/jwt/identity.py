"""Bearer tokens, verified with EdDSA and nothing else."""

from typing import Any

import jwt

from equerry.adapters.jwt.claims import parse_principal, parse_service
from equerry.adapters.jwt.keys import PublishedKeys
from equerry.domain.principal import Principal, ServiceCaller
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Unauthenticated

ALGORITHM = "EdDSA"
MAX_TOKEN_CHARS = 8_192
_UNVERIFIED = "the token does not verify"


class JwksIdentityAdapter:
    """IdentityPort against a JWKS address. There is no other way to verify, and no way to switch it off."""

    def __init__(self, *, jwks_url: str, issuer: str, audience: str, clock: Clock) -> None:
        """Raises ValueError if any of the three is blank, or the address is not safe to read keys from."""
        for name, setting in (("AUTH_ISSUER", issuer), ("AUTH_AUDIENCE", audience)):
            if not setting.strip():
                raise ValueError(f"{name} must not be blank")
        self._keys = PublishedKeys(jwks_url, clock)
        self._issuer = issuer
        self._audience = audience
        self._clock = clock

    def verify(self, token: str) -> Principal:
        """Keep IdentityPort's promise; no part of the token appears in an error.

        Raises:
            UserRequired: a valid service token.
        """
        return parse_principal(self._read(token), audience=self._audience, now=self._clock.now())

    def verify_service(self, token: str) -> ServiceCaller:
        """Keep IdentityPort's promise, by the same keys and rules.

        Raises:
            ServiceRequired: a valid user token.
        """
        return parse_service(self._read(token), audience=self._audience, now=self._clock.now())

    def _read(self, token: str) -> dict[str, Any]:
        """Return the claims of a token whose signature, issuer and audience hold."""
        if not token or len(token) > MAX_TOKEN_CHARS:
            raise Unauthenticated(f"a token must have 1 to {MAX_TOKEN_CHARS} characters")
        key = self._keys.find_key(_read_kid(token))
        if key is None:
            raise Unauthenticated("the token is signed with a key its issuer does not publish")
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                issuer=self._issuer,
                audience=self._audience,
                # Times are judged by our own clock, in parse_principal.
                options={
                    "require": ["iss", "aud", "sub", "iat", "exp"],
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                },
            )
        except (jwt.InvalidTokenError, ValueError, RecursionError):
            raise Unauthenticated(_UNVERIFIED) from None  # its cause may quote the token
        return claims


def _read_kid(token: str) -> str:
    """Return the key id of a token that could be one of ours, before anything is fetched for it."""
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.InvalidTokenError, ValueError, RecursionError):
        raise Unauthenticated(_UNVERIFIED) from None
    kid = header.get("kid")
    if header.get("alg") != ALGORITHM or not isinstance(kid, str) or not 1 <= len(kid) <= 256:
        raise Unauthenticated(_UNVERIFIED)
    return kid

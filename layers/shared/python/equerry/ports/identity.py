"""Bearer tokens."""

from typing import Protocol

from equerry.domain.principal import Principal, ServiceCaller


class IdentityPort(Protocol):
    """Verifies tokens against the issuer's published keys."""

    def verify(self, token: str) -> Principal:
        """Return who the token speaks for.

        Raises:
            Unauthenticated: not verifiable, expired, for another audience, or with claims that do not fit.
            Refused: verified, but of no organisation (code `organisation_required`).
            Unavailable: the issuer's keys cannot be had.
        """
        ...

    def verify_service(self, token: str) -> ServiceCaller:
        """Return which service the token speaks for.

        Raises:
            Unauthenticated: as above.
            Refused: a person's token (code `service_required`).
            Unavailable: as above.
        """
        ...

"""Tokens that speak for whom a test says."""

import threading
from datetime import timedelta

from equerry.adapters.jwt.claims import OrganisationRequired, ServiceRequired, UserRequired
from equerry.domain.principal import Principal, ServiceCaller
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, Unauthenticated, Unavailable

from tests.fakes.clock import FixedClock

LEEWAY_S = 30.0


class MemoryIdentityAdapter:
    """IdentityPort over a dictionary; a token it was not told about does not verify."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or FixedClock()
        self._known: dict[str, Principal | ServiceCaller | type[EquerryError]] = {}
        self._lock = threading.Lock()
        self.reachable = True

    def verify(self, token: str) -> Principal:
        found = self._find(token)
        if isinstance(found, ServiceCaller):
            raise UserRequired("this needs a person's token")
        return found

    def verify_service(self, token: str) -> ServiceCaller:
        found = self._find(token)
        if isinstance(found, Principal):
            raise ServiceRequired("this needs a service's token")
        return found

    def _find(self, token: str) -> Principal | ServiceCaller:
        if not self.reachable:
            raise Unavailable("the identity service's keys cannot be had")
        with self._lock:
            found = self._known.get(token)
        if found is None:
            raise Unauthenticated("the token does not verify")
        if not isinstance(found, Principal | ServiceCaller):
            raise found("this token will not do")
        if found.expires_at.timestamp() + LEEWAY_S <= self._clock.now().timestamp():
            raise Unauthenticated("the token has expired")
        return found

    def admit(self, token: str, principal: Principal) -> None:
        """Let a token speak for a person."""
        with self._lock:
            self._known[token] = principal

    def admit_without_organisation(self, token: str) -> None:
        """Let a token belong to a person of no organisation."""
        with self._lock:
            self._known[token] = OrganisationRequired

    def admit_service(self, token: str, service: ServiceCaller | None = None) -> None:
        """Let a token speak for a service, one of its name unless another is given."""
        until = self._clock.now() + timedelta(minutes=15)
        with self._lock:
            self._known[token] = service or ServiceCaller(service_id=token, scopes=(), expires_at=until)

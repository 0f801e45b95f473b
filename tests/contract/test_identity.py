"""IdentityPort: over memory and over signed tokens with a real key set."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from equerry.adapters.jwt.identity import JwksIdentityAdapter
from equerry.domain.billing import BillingAccess
from equerry.domain.principal import Principal, Scope, ServiceCaller
from equerry.kernel.errors import Refused, Unauthenticated, Unavailable
from equerry.kernel.identifiers import OrganisationId, ProjectId, UserId
from equerry.ports.identity import IdentityPort
from equerry.services.forwarding import (
    ForwardedAbsent,
    ForwardedRefused,
    ForwardedUser,
    ForwardedVerified,
    verify_forwarded_user,
)
from equerry.surfaces.http.authentication import FORWARDED_USER, read_forwarded_user

from tests.contract.issuer import Issuer, serve_issuer
from tests.fakes.clock import NOON, FixedClock
from tests.fakes.identity import MemoryIdentityAdapter

ANN = Principal(
    scope=Scope(
        organisation_id=OrganisationId("acme"),
        user_id=UserId("auth0|ann"),
        role="admin",
        project_ids=(ProjectId("p2"), ProjectId("p1")),
    ),
    expires_at=NOON + timedelta(minutes=15),
    name="Ann Österlund",
    billing=BillingAccess(status="active", plan="contractor"),
    link_id="link-7",
)
BOB = Principal(
    scope=Scope(organisation_id=OrganisationId("acme"), user_id=UserId("bob")),
    expires_at=NOON + timedelta(minutes=15),
)


BATCH = ServiceCaller(
    service_id="batch", scopes=("runs:write", "runs:read"), expires_at=NOON + timedelta(minutes=15)
)


@dataclass(frozen=True)
class Identities:
    port: IdentityPort
    clock: FixedClock
    token_for: Callable[[Principal], str]
    token_without_organisation: Callable[[], str]
    service_token: Callable[[], str]
    lose_issuer: Callable[[], None]


@pytest.fixture(params=["memory", "jwks"])
def identities(request: pytest.FixtureRequest) -> Iterator[Identities]:
    clock = FixedClock()
    if request.param == "memory":
        yield _memory(clock)
        return
    with serve_issuer() as issuer:
        yield _signed(issuer, clock)


def _memory(clock: FixedClock) -> Identities:
    memory = MemoryIdentityAdapter(clock)

    def admit(principal: Principal) -> str:
        memory.admit(principal.scope.user_id, principal)
        return principal.scope.user_id

    def admit_without_organisation() -> str:
        memory.admit_without_organisation("loner")
        return "loner"

    def admit_service() -> str:
        memory.admit_service("batch", BATCH)
        return "batch"

    def lose() -> None:
        memory.reachable = False

    return Identities(memory, clock, admit, admit_without_organisation, admit_service, lose)


def _signed(issuer: Issuer, clock: FixedClock) -> Identities:
    adapter = JwksIdentityAdapter(jwks_url=issuer.url, issuer=issuer.name, audience="equerry", clock=clock)
    base = {"iss": issuer.name, "aud": ["equerry"], "iat": NOON.timestamp(), "exp": NOON.timestamp() + 900}

    def sign(principal: Principal) -> str:
        scope = principal.scope
        claims = base | {
            "typ": "user",
            "sub": scope.user_id,
            "org": scope.organisation_id,
            "role": scope.role,
        }
        if scope.project_ids:
            claims["projects"] = list(scope.project_ids)
        if principal.name:
            claims["name"] = principal.name
        if principal.billing:
            claims["billing"] = {"status": principal.billing.status, "plan": principal.billing.plan}
        if principal.link_id:
            claims["via"] = principal.link_id
        return issuer.sign(claims | {"exp": principal.expires_at.timestamp()})

    def lose() -> None:
        issuer.trouble = 503

    return Identities(
        adapter,
        clock,
        sign,
        lambda: issuer.sign(base | {"typ": "user", "sub": "loner", "role": "member"}),
        lambda: issuer.sign(base | {"typ": "service", "sub": "batch", "scope": "runs:write runs:read"}),
        lose,
    )


@pytest.mark.req("A-AUTH-10", "A-AUTH-11")
def test_a_token_speaks_for_its_person(identities: Identities) -> None:
    assert identities.port.verify(identities.token_for(ANN)) == ANN
    assert identities.port.verify(identities.token_for(BOB)) == BOB


@pytest.mark.parametrize("token", ["", "junk", "a.b.c", "ü" * 40])
def test_what_is_no_token_does_not_verify(identities: Identities, token: str) -> None:
    with pytest.raises(Unauthenticated):
        identities.port.verify(token)


def test_a_token_ends(identities: Identities) -> None:
    token = identities.token_for(ANN)

    identities.clock.advance(15 * 60 + 29)
    still = identities.port.verify(token)
    identities.clock.advance(1)

    assert still == ANN
    with pytest.raises(Unauthenticated):
        identities.port.verify(token)


def test_a_person_of_no_organisation_is_refused_as_such(identities: Identities) -> None:
    with pytest.raises(Refused) as refused:
        identities.port.verify(identities.token_without_organisation())

    assert refused.value.code == "organisation_required"


def test_a_service_is_no_person(identities: Identities) -> None:
    with pytest.raises(Refused) as refused:
        identities.port.verify(identities.service_token())

    assert refused.value.code == "user_required"


@pytest.mark.req("A-AUTH-06")
def test_a_service_s_token_speaks_for_it_where_services_are_asked_for(identities: Identities) -> None:
    assert identities.port.verify_service(identities.service_token()) == BATCH


def test_a_person_is_no_service(identities: Identities) -> None:
    with pytest.raises(Refused) as refused:
        identities.port.verify_service(identities.token_for(ANN))
    assert refused.value.code == "service_required"

    with pytest.raises(Unauthenticated):
        identities.port.verify_service("junk")


def test_a_service_s_token_ends(identities: Identities) -> None:
    token = identities.service_token()

    identities.clock.advance(15 * 60 + 30)

    with pytest.raises(Unauthenticated):
        identities.port.verify_service(token)


@pytest.mark.req("A-AUTH-13", "A-AUTH-14", "A-AUTH-15")
def test_a_forwarded_user_is_verified_absent_or_refused_and_each_is_told_apart(
    identities: Identities,
) -> None:
    def forward(token: str) -> ForwardedUser:
        return verify_forwarded_user(read_forwarded_user({FORWARDED_USER: token}), identities.port)

    assert verify_forwarded_user(read_forwarded_user({}), identities.port) == ForwardedAbsent()
    assert forward(identities.token_for(ANN)) == ForwardedVerified(ANN)
    assert forward(identities.service_token()) == ForwardedRefused("user_required")
    assert forward(identities.token_without_organisation()) == ForwardedRefused("organisation_required")
    for forged in ("", "junk", "a.b.c", f"Bearer {identities.token_for(ANN)}"):
        assert forward(forged) == ForwardedRefused("unauthenticated"), forged
    expired = identities.token_for(BOB)
    identities.clock.advance(15 * 60 + 30)
    assert forward(expired) == ForwardedRefused("unauthenticated")


def test_a_forwarded_user_that_nobody_can_verify_is_neither_absent_nor_refused(
    identities: Identities,
) -> None:
    token = identities.token_for(ANN)
    identities.lose_issuer()

    with pytest.raises(Unavailable):
        verify_forwarded_user(read_forwarded_user({FORWARDED_USER: token}), identities.port)


def test_without_the_issuers_keys_nobody_can_be_verified(identities: Identities) -> None:
    token = identities.token_for(ANN)
    identities.lose_issuer()

    with pytest.raises(Unavailable):
        identities.port.verify(token)

"""What verified claims must say, and must not."""

from datetime import UTC, datetime, timedelta

import pytest
from equerry.adapters.jwt.claims import ClaimsRefused, OrganisationRequired, UserRequired, parse_principal
from equerry.domain.billing import BillingAccess
from equerry.domain.principal import Principal

from tests.fakes.clock import NOON

NOW_S = NOON.timestamp()
USER: dict[str, object] = {
    "iss": "https://id.example.test",
    "aud": ["equerry"],
    "sub": "ann",
    "typ": "user",
    "org": "acme",
    "role": "member",
    "iat": NOW_S,
    "exp": NOW_S + 900,
}
SERVICE: dict[str, object] = {
    "iss": "https://id.example.test",
    "aud": ["billing", "equerry"],
    "sub": "batch",
    "typ": "service",
    "scope": "runs:write",
    "iat": NOW_S,
    "exp": NOW_S + 900,
}


def parse(claims: dict[str, object], *, now: datetime = NOON) -> Principal:
    return parse_principal(claims, audience="equerry", now=now)


def without(claims: dict[str, object], name: str) -> dict[str, object]:
    return {key: entry for key, entry in claims.items() if key != name}


@pytest.mark.req("A-AUTH-06")
def test_people_and_services_are_told_apart_and_nothing_else_is_accepted() -> None:
    assert parse(USER).scope.user_id == "ann"
    with pytest.raises(UserRequired):
        parse(SERVICE)
    with pytest.raises(UserRequired):
        parse(SERVICE | {"org": "acme"})
    for typ in ("admin", "User", "", None, 1, ["user"]):
        with pytest.raises(ClaimsRefused):
            parse(USER | {"typ": typ})
    with pytest.raises(ClaimsRefused):
        parse(without(USER, "typ"))


@pytest.mark.req("A-AUTH-07")
@pytest.mark.parametrize("scope", ["", "runs:write", None, []])
def test_a_user_token_with_a_scope_is_refused(scope: object) -> None:
    with pytest.raises(ClaimsRefused, match="must not carry scope"):
        parse(USER | {"scope": scope})


@pytest.mark.req("A-AUTH-08")
@pytest.mark.parametrize("role", ["", "admin", None, []])
def test_a_service_token_with_a_role_is_refused(role: object) -> None:
    with pytest.raises(ClaimsRefused, match="must not carry role"):
        parse(SERVICE | {"role": role})


@pytest.mark.req("A-AUTH-09")
@pytest.mark.parametrize("aud", [[], ["billing"], ["equerry2"], "equerry", "billing", None])
def test_a_service_token_must_list_this_service(aud: object) -> None:
    with pytest.raises(ClaimsRefused, match="aud"):
        parse(SERVICE | {"aud": aud})


@pytest.mark.parametrize("scope", [None, 1, ["runs:write"]])
def test_a_service_token_needs_a_scope(scope: object) -> None:
    with pytest.raises(ClaimsRefused, match="scope"):
        parse(SERVICE | {"scope": scope})


@pytest.mark.parametrize("org", [None, "", "missing"])
def test_a_person_without_an_organisation_is_told_so(org: str | None) -> None:
    with pytest.raises(OrganisationRequired):
        parse(without(USER, "org") if org == "missing" else USER | {"org": org})


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("org", 7),
        ("org", ["acme"]),
        ("org", "acme,globex"),
        ("org", "acme/../globex"),
        ("org", "a" * 129),
        ("sub", ""),
        ("sub", None),
        ("sub", "ann bob"),
        ("sub", "ann\n"),
        ("sub", "ann'"),
        ("sub", "änn"),
        ("role", "owner"),
        ("role", None),
        ("role", ["admin"]),
        ("projects", None),
        ("projects", "p1"),
        ("projects", ["p1", 2]),
        ("projects", ["p1,p2"]),
        ("projects", [""]),
        ("name", 7),
    ],
)
def test_claims_of_another_form_are_refused_without_being_quoted(name: str, entry: object) -> None:
    with pytest.raises(ClaimsRefused, match=name) as refused:
        parse(USER | {name: entry})

    assert not entry or str(entry) not in str(refused.value)


def test_projects_keep_their_order_and_lose_their_repeats() -> None:
    assert parse(USER | {"projects": ["p2", "p1", "p2"]}).scope.project_ids == ("p2", "p1")


def test_claims_that_are_not_ours_are_ignored() -> None:
    assert parse(USER | {"email": "x", "billing": {"plan": 1}, "admin": True, "roles": ["admin"]}) == parse(
        USER
    )


def test_a_long_name_is_cut_and_a_blank_one_is_none() -> None:
    assert parse(USER | {"name": "x" * 300}).name == "x" * 200
    assert parse(USER | {"name": ""}).name is None


def test_the_clocks_may_differ_by_half_a_minute() -> None:
    assert parse(USER, now=NOON + timedelta(seconds=929)).expires_at == NOON + timedelta(seconds=900)
    assert parse(USER | {"iat": NOW_S + 30, "nbf": NOW_S + 30}).scope.user_id == "ann"


@pytest.mark.parametrize(
    "times",
    [
        {"exp": NOW_S - 30},
        {"exp": 0},
        {"iat": NOW_S + 31},
        {"nbf": NOW_S + 31},
        {"exp": None},
        {"exp": "9999999999"},
        {"exp": True},
        {"exp": float("nan")},
        {"exp": float("inf")},
        {"exp": -1},
        {"exp": 10**400},
        {"iat": float("nan")},
        {"nbf": None},
        {"nbf": "soon"},
    ],
)
@pytest.mark.parametrize("claims", [USER, SERVICE], ids=["user", "service"])
def test_a_token_outside_its_time_is_refused(claims: dict[str, object], times: dict[str, object]) -> None:
    with pytest.raises(ClaimsRefused):
        parse(claims | times)


def test_the_principal_ends_with_the_token_and_not_with_the_leeway() -> None:
    assert parse(USER | {"exp": NOW_S + 0.5}).expires_at == datetime.fromtimestamp(NOW_S + 0.5, UTC)


@pytest.mark.req("A-AUTH-10", "A-AUTH-11")
@pytest.mark.parametrize(
    ("claim", "read"),
    [
        ({"status": "active"}, BillingAccess(status="active")),
        ({"status": "trialing", "plan": "contractor"}, BillingAccess(status="trialing", plan="contractor")),
        ({}, None),
        ({"status": 7}, None),
        ({"status": "active", "plan": ["x"]}, None),
        ("active", None),
        (None, None),
    ],
)
def test_a_billing_claim_is_read_where_it_is_one(claim: object, read: BillingAccess | None) -> None:
    assert parse(USER | {"billing": claim}).billing == read
    assert parse(USER).billing is None


@pytest.mark.parametrize("via", [None, "", 7, ["l"], "l" * 129, "a/b"])
def test_who_works_through_a_link_must_say_which(via: object) -> None:
    with pytest.raises(ClaimsRefused, match="via"):
        parse(USER | {"via": via})

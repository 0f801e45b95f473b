"""The billing guard, as every route meets it."""

import re
from datetime import timedelta

import pytest
from equerry.domain.billing import BillingAccess, Entitlement
from equerry.domain.principal import Principal
from equerry.surfaces.http.routing import Route

from tests.unit.runtime.test_http_app import UNKNOWN, Api
from tests.unit.services.world import ADA, World

ROUTES = [route for route in Api(World()).routes if route.authenticated]
WRITES = [route for route in ROUTES if route.method != "GET"]
READS = [route for route in ROUTES if route.method == "GET"]


def call(api: Api, route: Route, token: str = "ada") -> tuple[int, str | None]:
    path = re.sub(r"\{\w+\}", lambda name: "c" if name[0] == "{corpusId}" else UNKNOWN, route.path)
    body: dict[str, object] | None = {} if route.request else None
    status, answer, _ = api(route.method, path, body, token=token)
    return status, answer.get("code") if isinstance(answer, dict) else None


def let_contractor_in(api: Api) -> str:
    expires_at = api.world.clock.now() + timedelta(hours=1)
    api.identity.admit("via", Principal(scope=ADA, expires_at=expires_at, link_id="l-7"))
    return "via"


@pytest.mark.req("A-BILL-01", "A-BILL-02", "A-BILL-08")
@pytest.mark.parametrize("route", WRITES, ids=lambda route: route.operation)
@pytest.mark.parametrize("kept", [None, "lapsed", "ended"])
def test_a_write_without_a_current_entitlement_is_403(route: Route, kept: str | None) -> None:
    api = Api(World(), bills=True)
    now = api.world.clock.now()
    if kept is not None:
        found = (
            Entitlement(status="past_due") if kept == "lapsed" else Entitlement(status="active", until=now)
        )
        api.entitlements.organisations[ADA.organisation_id] = found

    assert call(api, route) == (403, "billing_required")
    assert api.entitlements.asked == ["ORG#acme"]


@pytest.mark.req("A-BILL-03")
@pytest.mark.parametrize("route", READS, ids=lambda route: route.operation)
def test_a_read_needs_no_entitlement(route: Route) -> None:
    api = Api(World(), bills=True)

    assert call(api, route)[1] not in ("billing_required", "billing_unavailable")
    assert api.entitlements.asked == []


@pytest.mark.parametrize("status", ["active", "trialing"])
def test_who_is_entitled_is_let_through(status: str) -> None:
    api = Api(World(), bills=True)
    until = api.world.clock.now() + timedelta(seconds=1)
    api.entitlements.organisations[ADA.organisation_id] = Entitlement(status=status, until=until)

    assert api("POST", "/conversations", {})[0] == 201


@pytest.mark.req("A-BILL-04")
def test_a_service_s_token_is_never_asked_for_a_plan() -> None:
    api = Api(World(), bills=True)

    for route in ROUTES:
        assert call(api, route, token="machine") == (403, "user_required")  # no password
    assert api.entitlements.asked == []


@pytest.mark.req("A-BILL-06")
def test_without_enforcement_nothing_is_asked() -> None:
    api = Api(World())

    assert api("POST", "/conversations", {}, token=let_contractor_in(api))[0] == 201
    assert api.entitlements.asked == []


@pytest.mark.req("A-BILL-09")
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_a_contractor_s_link_is_read_on_every_request_and_one_that_cannot_be_is_503(route: Route) -> None:
    api = Api(World(), bills=True)
    token = let_contractor_in(api)

    assert call(api, route, token) == (403, "billing_required")
    api.entitlements.out = True
    assert call(api, route, token) == (503, "billing_unavailable")
    assert api.entitlements.asked == ["LINK#l-7", "LINK#l-7"]


def test_a_contractor_whose_link_is_current_reads_and_needs_the_organisation_s_plan_to_write() -> None:
    api = Api(World(), bills=True)
    token = let_contractor_in(api)
    api.entitlements.links["l-7"] = Entitlement(status="active")

    assert api("GET", "/conversations", token=token)[0] == 200
    assert api("POST", "/conversations", {}, token=token)[1]["code"] == "billing_required"
    api.entitlements.organisations[ADA.organisation_id] = Entitlement(status="active")
    assert api("POST", "/conversations", {}, token=token)[0] == 201


@pytest.mark.req("A-AUTH-12")
def test_what_a_body_says_of_billing_is_no_part_of_any_request() -> None:
    api = Api(World(), bills=True)
    api.entitlements.organisations[ADA.organisation_id] = Entitlement(status="active")

    status, problem, _ = api("POST", "/conversations", {"billing": {"status": "active"}})

    assert (status, problem["code"]) == (400, "invalid_request")
    assert BillingAccess(status="active").plan is None

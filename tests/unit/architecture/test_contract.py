"""The committed contract is what the routes that serve generate, byte for byte."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from equerry.runtime.http_app import HttpApp
from equerry.services.billing import BillingService
from equerry.surfaces.http.openapi import build_contract
from equerry.surfaces.http.routing import PREFIX, Route

from infra import http_api
from local.codegen.contract import build_offline_routes, read_version, write_contract
from local.places import ROOT
from tests.fakes.clock import FixedClock
from tests.fakes.identity import MemoryIdentityAdapter

SNAPSHOT = ROOT / "docs/openapi.json"


@pytest.fixture(scope="module")
def routes() -> tuple[Route, ...]:
    return build_offline_routes()


@pytest.fixture(scope="module")
def app(routes: tuple[Route, ...]) -> HttpApp:
    nobody_pays = BillingService(entitlements=None, clock=FixedClock())
    return HttpApp(routes, MemoryIdentityAdapter(FixedClock()), nobody_pays)


def call(app: HttpApp, path: str, method: str = "GET") -> dict[str, Any]:
    event = {
        "version": "2.0",
        "rawPath": path,
        "headers": {},
        "requestContext": {"http": {"method": method, "path": path}, "requestId": "r", "stage": "$default"},
        "isBase64Encoded": False,
    }
    return app(event, SimpleNamespace())


@pytest.mark.req("A-SPEC-04", "A-SPEC-06")
def test_the_snapshot_is_what_the_routes_generate() -> None:
    assert SNAPSHOT.read_text(encoding="utf-8") == write_contract()


@pytest.mark.req("A-SPEC-05")
def test_another_process_writes_the_same_bytes() -> None:
    code = "import sys; from local.codegen.contract import write_contract; sys.stdout.write(write_contract())"
    environment = os.environ | {"PYTHONHASHSEED": "4711", "PYTHONIOENCODING": "utf-8"}

    written = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True, cwd=ROOT
    )

    assert written.stdout == SNAPSHOT.read_bytes()


@pytest.mark.req("A-SPEC-01", "A-SPEC-02", "A-SPEC-07")
def test_the_served_bytes_are_the_snapshot_s_and_need_no_token(app: HttpApp) -> None:
    served = call(app, f"{PREFIX}/openapi.json")

    assert served["statusCode"] == 200
    assert served["body"].encode() == SNAPSHOT.read_bytes()


@pytest.mark.req("A-SPEC-08", "A-SPEC-11")
def test_routes_and_descriptors_match_both_ways(routes: tuple[Route, ...]) -> None:
    document = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}

    assert described == {(route.method, route.path) for route in routes if route.documented}
    assert {route.path for route in routes if not route.documented} == {"/version"}


@pytest.mark.req("A-SPEC-08")
def test_a_route_without_a_descriptor_changes_the_document(routes: tuple[Route, ...]) -> None:
    assert build_contract(routes[1:], version=read_version()) != SNAPSHOT.read_text(encoding="utf-8")


@pytest.mark.req("A-SVC-02")
def test_every_route_is_below_the_prefix_and_nothing_is_beside_it(
    routes: tuple[Route, ...], app: HttpApp
) -> None:
    assert PREFIX == http_api.PREFIX == "/api/assistant"
    for route in routes:
        path = route.path.replace("{", "").replace("}", "")
        assert call(app, PREFIX + path, route.method)["statusCode"] != 404, route.path
        assert call(app, path, route.method)["statusCode"] == 404, route.path

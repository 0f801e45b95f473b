"""The contract that is served, held against what serves it: nothing undocumented, nothing of ours broken."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from local.cli.api import Api
from local.files import read_json
from local.places import ROOT
from tests.deployed import Deployed, start, wait_for_end

pytestmark = pytest.mark.stack

EXAMPLES = 10
SPARE = "spare"
CHECKS: list[Any] = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SNAPSHOT = ROOT / "docs" / "openapi.json"
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
CALLERS = {"admin": "ada", "member": "ben", "nobody": None}
Parameters = dict[str, str]


@dataclass
class Gateway:
    """The HTTP API as a stranger's program would call it."""

    url: str
    headers: Mapping[str, str]
    session: requests.Session = field(default_factory=requests.Session)

    def ask(self, method: str, path: str) -> requests.Response:
        address = f"{self.url}/api/assistant{path}"
        return self.session.request(method, address, headers=self.headers, timeout=60)


@pytest.fixture(scope="module")
def gateway(deployed: Deployed) -> Iterator[Gateway]:
    """The deployed HTTP API."""
    endpoints = read_json(deployed.places.endpoints)
    gateway = Gateway(endpoints["httpUrl"], endpoints["httpHeaders"])
    yield gateway
    gateway.session.close()


@pytest.fixture(scope="module")
def contract(gateway: Gateway) -> Any:
    """The served document, as schemathesis reads it."""
    return schemathesis.openapi.from_dict(gateway.ask("GET", "/openapi.json").json())


@pytest.fixture(scope="module")
def known(indexed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Parameters]:
    """Things that exist, for the paths that name them, by who may see them."""
    # Deleting is among what is tried, so the document is nobody else's.
    folder = tmp_path_factory.mktemp("spare")
    (folder / "spare.txt").write_text("The spare key to the dome hangs behind the barometer.")
    assert indexed.index(folder, corpus=SPARE).failed == {}
    with indexed.api("ada") as ada:
        (spare,) = ada.get(f"/corpora/{SPARE}/documents")["documents"]
    found = {}
    for caller, user in CALLERS.items():
        with indexed.api(user or "ben") as api:
            found[caller] = _make_things(api) | {"corpusId": SPARE, "documentId": spare["documentId"]}
    return found


def _make_things(api: Api) -> Parameters:
    conversation, run_id = start(api, "What is forbidden inside the dome?")
    (cited, *_) = wait_for_end(api, run_id)["message"]["citations"]
    return {"conversationId": conversation, "runId": run_id, "passageId": cited["passageId"]}


@pytest.mark.req("A-SPEC-01", "A-SPEC-04")
@pytest.mark.parametrize("caller", list(CALLERS))
def test_no_answer_is_undocumented(
    deployed: Deployed, gateway: Gateway, contract: Any, known: Mapping[str, Parameters], caller: str
) -> None:
    headers = {**gateway.headers, **_authorise(deployed, CALLERS[caller])}
    asked = 0
    for found in contract.get_all_operations():
        asked += _try_operation(found.ok(), gateway, headers, known[caller])

    assert asked > len(list(contract.get_all_operations()))


@pytest.mark.req("A-SPEC-01", "A-SPEC-02", "A-SPEC-07")
def test_the_served_bytes_are_those_of_the_snapshot(gateway: Gateway) -> None:
    answer = gateway.ask("GET", "/openapi.json")

    served = json.loads(answer.content)
    assert answer.status_code == 200
    # The version is the deployment's own.
    assert json.loads(SNAPSHOT.read_text()) | {"info": served["info"]} == served


@pytest.mark.req("A-SPEC-03", "A-SPEC-10")
def test_health_and_version_need_no_token(gateway: Gateway) -> None:
    assert gateway.ask("GET", "/health").status_code == 200
    version = gateway.ask("GET", "/version")

    assert set(version.json()) == {"version", "commit", "lambdaVersion"}
    assert version.headers["cache-control"] == "no-store"


def test_a_method_that_an_address_lacks_is_told_what_it_has(gateway: Gateway, contract: Any) -> None:
    for path, operations in contract.raw_schema["paths"].items():
        has = {name.upper() for name in operations if name.upper() in METHODS}
        has |= {"OPTIONS"} | ({"HEAD"} if "GET" in has else set())
        for method in sorted(METHODS - has):
            answer = gateway.ask(method, path.replace("{", "").replace("}", ""))

            assert answer.status_code == 405, (method, path)
            assert set(answer.headers["allow"].split(", ")) == has
            assert method == "HEAD" or answer.json()["code"] == "method_not_allowed"


def _try_operation(operation: Any, gateway: Gateway, headers: Mapping[str, str], known: Parameters) -> int:
    """Ask with what the document allows and with what it forbids; return how often."""
    asked = 0
    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    cases = st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes])

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, real=st.booleans())
    def ask(case: Any, real: bool) -> None:
        nonlocal asked
        if real and case.path_parameters:
            case.path_parameters |= {name: known[name] for name in case.path_parameters if name in known}
        base = f"{gateway.url}/api/assistant"
        answer = case.call(base, gateway.session, dict(headers), timeout=60)
        asked += 1
        assert answer.status_code < 500, (answer.status_code, answer.content[:500])
        if "x-request-id" in answer.headers:
            case.validate_response(answer, checks=CHECKS)
        else:  # the gateway's own words: a path that it took for no route of ours
            assert answer.status_code in (400, 404), answer.content[:500]

    ask()
    return asked


def _authorise(deployed: Deployed, user: str | None) -> dict[str, str]:
    if user is None:
        return {}
    tokens = read_json(deployed.places.endpoints)["tokens"]
    token = next(entry["token"] for entry in tokens if entry["userId"] == user)
    return {"authorization": f"Bearer {token}"}

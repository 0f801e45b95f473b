"""Structured completions on the deployed stack: invoked as another service would, each code provoked."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

from local.aws import Session
from local.deploy import load_outputs
from tests.completion_cases import CASES, EMITTED, Case, choose, list_variables
from tests.completions import ANSWER, REQUEST_ID, document, image, payload
from tests.deployed import Deployed
from tests.strict.anthropic_server import KEY, serve_anthropic

FIRST = tuple({case.code: case for case in reversed(CASES)}.values())
"""One case of each code, because the emulator starts the function anew after each; the stream has all."""


class Caller:
    """Another service, which finds the function once and keeps its client."""

    def __init__(self, deployed: Deployed) -> None:
        outputs, session = load_outputs(deployed.places), Session(deployed.places)
        self._client = session.functions
        name = outputs["StructuredCompletionFunctionArnSsmParameter"]
        self._arn = session.ssm.get_parameter(Name=name)["Parameter"]["Value"]
        assert self._arn == outputs["StructuredCompletionArn"]

    def invoke(self, event: object) -> tuple[Any, str | None]:
        """Return what the function answers, and the kind of its failure if it failed."""
        answer = self._client.invoke(FunctionName=self._arn, Payload=json.dumps(event).encode())
        return json.loads(answer["Payload"].read()), answer.get("FunctionError")


@contextmanager
def released(deployed: Deployed, variables: Mapping[str, str]) -> Iterator[None]:
    name = load_outputs(deployed.places)["StructuredCompletionArn"].split(":")[6]
    with deployed.released(name, variables):
        yield


@pytest.fixture(scope="module")
def caller(deployed: Deployed) -> Caller:
    return Caller(deployed)


@pytest.fixture(scope="module")
def usual(deployed: Deployed) -> Iterator[dict[str, str]]:
    """How the function is configured with a live provider's wire behind it."""
    secrets = Session(deployed.places).secrets
    secret = secrets.create_secret(Name=f"completion-{uuid4()}", SecretString=KEY)["ARN"]
    with serve_anthropic(choose) as provider:
        yield list_variables(provider.url, secret)
        assert provider.violations == []


@pytest.fixture(scope="module")
def live(deployed: Deployed, usual: dict[str, str], caller: Caller) -> Iterator[Caller]:
    """Who invokes the function with that provider."""
    with released(deployed, usual):
        yield caller


@pytest.mark.req("A-SC-05", "A-SCRS-01", "A-SCRS-03")
def test_another_service_is_answered(live: Caller) -> None:
    answer, failed = live.invoke(payload(documents=[document()], images=[image(label="Plan")]))

    assert failed is None
    assert (answer["output"], answer["requestId"]) == (ANSWER, REQUEST_ID)
    assert (answer["provider"], answer["model"]) == ("anthropic", "claude-test-1")


def require_refusal(caller: Caller, case: Case) -> None:
    answer, failed = caller.invoke(case.event)

    assert failed
    # The emulator has one errorType for every exception; Lambda gives its class's name.
    assert answer["errorMessage"].startswith(f"[{case.status} {case.code}] ")
    assert case.said in answer["errorMessage"]


@pytest.mark.req(
    *("A-SCRS-12", "A-SCRS-13", "A-SCRS-15", "A-SCRS-16", "A-SCRS-17", "A-SCRS-18", "A-SCRS-19"),
    *("A-SCRS-20", "A-SCRS-21", "A-SCRS-22", "A-SCRS-23", "A-SCIM-07", "A-SCDO-12"),
)
@pytest.mark.parametrize("case", [case for case in FIRST if not case.variables], ids=lambda case: case.code)
def test_a_refusal_reaches_the_caller_and_the_next_request_is_answered(live: Caller, case: Case) -> None:
    require_refusal(live, case)

    if case.reply == EMITTED:
        return
    answer, failed = live.invoke(payload())
    assert failed is None
    assert answer["output"] == ANSWER


@pytest.mark.req("A-SCRS-07", "A-SCOP-02")
@pytest.mark.parametrize("case", [case for case in FIRST if case.variables], ids=lambda case: case.code)
def test_what_is_configured_so_refuses_everything(
    deployed: Deployed, caller: Caller, usual: dict[str, str], case: Case
) -> None:
    with released(deployed, {**usual, **case.variables}):
        require_refusal(caller, case)


@pytest.mark.req("A-SCST-04")
def test_the_streaming_function_is_deployed_and_found(deployed: Deployed) -> None:
    outputs = load_outputs(deployed.places)
    name = outputs["StructuredCompletionStreamFunctionArnSsmParameter"]
    session = Session(deployed.places)

    arn = session.ssm.get_parameter(Name=name)["Parameter"]["Value"]

    assert name.endswith("/structured-completion-stream-function-arn")
    found = session.functions.get_function_configuration(FunctionName=arn)
    assert found["Environment"]["Variables"]["AWS_LAMBDA_EXEC_WRAPPER"].endswith("/stream")

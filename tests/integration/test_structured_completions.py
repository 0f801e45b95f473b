"""Structured completions on the deployed stack: invoked as another service would, each code provoked."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

from local.aws import Session
from local.deploy import load_outputs
from tests.completions import ANSWER, HOST, JPEG, PNG, REQUEST_ID, document, image, payload
from tests.deployed import Deployed
from tests.strict import anthropic_events as wire
from tests.strict.anthropic_server import KEY, serve_anthropic

EMITTED = wire.Stream(wire.message(wire.tool(json.dumps(ANSWER), name="emit"), stop="tool_use"))
FAILS, LATE = "case:fails", "case:late"
MIB = 1024 * 1024


def choose(body: wire.Json) -> wire.Reply:
    """Play the provider: what the prompt says decides what goes wrong."""
    said = json.dumps(body["messages"][-1])
    if FAILS in said:
        return wire.Failure(400, "invalid_request_error")
    if LATE in said:
        return wire.Stream((*EMITTED.items[:3], wire.Stall(20)))
    return EMITTED


def of(characters: int) -> dict[str, Any]:
    """An image of so many characters of base64."""
    return image(PNG + b"\0" * (characters // 4 * 3 - len(PNG)))


def invoke(deployed: Deployed, event: object) -> tuple[Any, str | None]:
    """Return what the function answers, and the kind of its failure if it failed."""
    outputs = load_outputs(deployed.places)
    session = Session(deployed.places)
    name = outputs["StructuredCompletionFunctionArnSsmParameter"]
    arn = session.ssm.get_parameter(Name=name)["Parameter"]["Value"]
    assert arn == outputs["StructuredCompletionArn"]
    answer = session.functions.invoke(FunctionName=arn, Payload=json.dumps(event).encode())
    return json.loads(answer["Payload"].read()), answer.get("FunctionError")


@contextmanager
def released(deployed: Deployed, variables: Mapping[str, str]) -> Iterator[None]:
    name = load_outputs(deployed.places)["StructuredCompletionArn"].split(":")[6]
    with deployed.released(name, variables):
        yield


@pytest.fixture(scope="module")
def live(deployed: Deployed) -> Iterator[Deployed]:
    """The function with a live provider's wire behind it."""
    secrets = Session(deployed.places).secrets
    with serve_anthropic(choose) as server:
        variables = {
            "MODEL_PROVIDER": "anthropic",
            "MODEL_ID": "claude-test-1",
            "MODEL_BASE_URL": server.url,
            "MODEL_SECRET_ARN": secrets.create_secret(Name=f"completion-{uuid4()}", SecretString=KEY)["ARN"],
            "STRUCTURED_COMPLETION_DOCUMENT_HOSTS": HOST,
            "STRUCTURED_COMPLETION_DEADLINE_MILLISECONDS": "3000",
        }
        with released(deployed, variables):
            yield deployed
        assert server.violations == []


@pytest.mark.req("A-SC-05", "A-SCRS-01", "A-SCRS-03")
def test_another_service_is_answered(live: Deployed) -> None:
    answer, failed = invoke(live, payload(documents=[document()], images=[image(label="Plan")]))

    assert failed is None
    assert (answer["output"], answer["requestId"]) == (ANSWER, REQUEST_ID)
    assert (answer["provider"], answer["model"]) == ("anthropic", "claude-test-1")


@pytest.mark.req(
    *("A-SCRS-13", "A-SCRS-15", "A-SCRS-16", "A-SCRS-17", "A-SCRS-18", "A-SCRS-19", "A-SCRS-21"),
    *("A-SCRS-22", "A-SCRS-12"),
)
@pytest.mark.parametrize(
    ("status", "code", "event"),
    [
        (400, "invalid_request", payload(model="claude-x")),
        (400, "invalid_request", payload(modelProfile="absent")),
        (400, "too_many_images", payload(images=[image()] * 9)),
        (400, "too_many_documents", payload(documents=[document()] * 21)),
        (400, "document_url_not_allowed", payload(documents=[document("https://example.com/a.pdf")])),
        (413, "image_too_large", payload(images=[of(4 * MIB + 4)])),
        (413, "images_too_large", payload(images=[of(3 * MIB), of(2 * MIB)])),
        (415, "unsupported_media_type", payload(images=[image(JPEG)])),
        (502, "completion_failed", payload(prompt=FAILS)),
        (504, "deadline_exceeded", payload(prompt=LATE)),
    ],
)
def test_each_code_reaches_the_caller(live: Deployed, status: int, code: str, event: object) -> None:
    answer, failed = invoke(live, event)

    assert failed
    # The emulator has one errorType for every exception; Lambda gives its class's name.
    assert answer["errorMessage"].startswith(f"[{status} {code}] ")


@pytest.mark.req("A-SCRS-07", "A-SCRS-23", "A-SCOP-02")
@pytest.mark.parametrize(
    ("status", "code", "variables", "event"),
    [
        (503, "disabled", {"STRUCTURED_COMPLETIONS_ENABLED": "false"}, payload()),
        (
            *(422, "documents_unsupported"),
            {"MODEL_PROVIDER": "fixture", "STRUCTURED_COMPLETION_DOCUMENT_HOSTS": HOST},
            payload(documents=[document()]),
        ),
    ],
)
def test_what_the_configuration_forbids_reaches_the_caller(
    deployed: Deployed, status: int, code: str, variables: dict[str, str], event: object
) -> None:
    with released(deployed, variables):
        answer, failed = invoke(deployed, event)

    assert failed
    assert answer["errorMessage"].startswith(f"[{status} {code}] ")


@pytest.mark.req("A-SCST-04")
def test_the_streaming_function_is_deployed_and_found(deployed: Deployed) -> None:
    outputs = load_outputs(deployed.places)
    name = outputs["StructuredCompletionStreamFunctionArnSsmParameter"]
    session = Session(deployed.places)

    arn = session.ssm.get_parameter(Name=name)["Parameter"]["Value"]

    assert name.endswith("/structured-completion-stream-function-arn")
    found = session.functions.get_function_configuration(FunctionName=arn)
    assert found["Environment"]["Variables"]["AWS_LAMBDA_EXEC_WRAPPER"].endswith("/stream")

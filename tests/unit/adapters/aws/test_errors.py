"""Which of AWS's refusals are foreseen, and which are bugs that must alarm."""

import socket
from collections.abc import Iterator

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    IncompleteReadError,
    NoCredentialsError,
    ReadTimeoutError,
)
from equerry.adapters.aws.channel import ApiGatewayChannelAdapter
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.errors import ConditionFailed, aws_errors
from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import ConnectionId, RunId

from tests.contract.management_api import ManagementApi, serve_management_api
from tests.fakes.clock import FixedClock

TAB = ConnectionId("L0SM9cOFvHcCIhw=")


def refusal(code: str, status: int, **more: object) -> ClientError:
    response: dict[str, object] = {
        "Error": {"Code": code, "Message": "said AWS"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response | more, "PutItem")  # type: ignore[arg-type]  # a partial response


@pytest.fixture
def api() -> Iterator[ManagementApi]:
    with serve_management_api() as serving:
        yield serving


@pytest.mark.parametrize("found", [None, {"pk": {"S": "c-1"}}])
def test_a_condition_that_did_not_hold_is_a_conflict_with_what_was_found(
    found: dict[str, object] | None,
) -> None:
    error = refusal("ConditionalCheckFailedException", 400, **({"Item": found} if found else {}))

    with pytest.raises(ConditionFailed, match="could not keep it") as failed, aws_errors("keep it"):
        raise error

    assert failed.value.item == found
    assert failed.value.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [
        refusal("ThrottlingException", 400),
        refusal("ProvisionedThroughputExceededException", 400),
        refusal("RequestLimitExceeded", 400),
        refusal("SlowDown", 503),
        refusal("LimitExceededException", 429),
        refusal("", 429),
        refusal("InternalServerError", 500),
        refusal("502", 502),
        EndpointConnectionError(endpoint_url="https://dynamodb"),
        ConnectTimeoutError(endpoint_url="https://dynamodb"),
        ReadTimeoutError(endpoint_url="https://dynamodb"),
        IncompleteReadError(actual_bytes=1, expected_bytes=2),
    ],
    ids=lambda error: f"{type(error).__name__} {error}"[:60],
)
def test_what_may_pass_is_unavailable(error: Exception) -> None:
    with pytest.raises(Unavailable, match="could not keep it") as unavailable, aws_errors("keep it"):
        raise error

    assert unavailable.value.retryable
    assert unavailable.value.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [
        refusal("AccessDeniedException", 400),
        refusal("AccessDenied", 403),
        refusal("ValidationException", 400),
        refusal("ResourceNotFoundException", 400),
        refusal("ExpiredTokenException", 403),
        NoCredentialsError(),
        KeyError("a bug"),
    ],
    ids=lambda error: f"{type(error).__name__} {error}"[:60],
)
def test_our_own_bugs_pass_through_untouched(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, aws_errors("keep it"):
        raise error

    assert raised.value is error


def test_a_store_that_is_not_there_is_unavailable_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
    interrupts = DynamoInterruptAdapter(AwsClients().dynamodb, "flags", FixedClock())

    with pytest.raises(Unavailable):
        interrupts.is_interrupted(RunId("r-1"))


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_push_is_tried_three_times_and_then_unavailable(api: ManagementApi, status: int) -> None:
    api.trouble = status
    client = AwsClients().push(api.url)

    with pytest.raises(Unavailable):
        ApiGatewayChannelAdapter(client).send(TAB, "{}")

    client.close()
    assert api.requests == 3


@pytest.mark.parametrize("status", [400, 403, 413])
def test_a_push_that_is_refused_for_good_is_our_bug(api: ManagementApi, status: int) -> None:
    api.trouble = status
    client = AwsClients().push(api.url)

    with pytest.raises(ClientError):
        ApiGatewayChannelAdapter(client).send(TAB, "{}")

    client.close()
    assert api.requests == 1

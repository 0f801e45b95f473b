"""Where the AWS adapters' suites run: moto always, the emulator at CONTRACT_AWS_ENDPOINT_URL too, if set."""

import functools
import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

import pytest
from equerry.adapters.aws.clients import AwsClients
from moto import mock_aws
from moto.core.models import botocore_stubber

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeDefinitionTypeDef, KeySchemaElementTypeDef

EMULATOR_URL = os.environ.get("CONTRACT_AWS_ENDPOINT_URL", "")
BACKENDS: tuple[str, ...] = ("moto", "emulator") if EMULATOR_URL else ("moto",)
_MOTO = threading.Lock()


@contextmanager
def start_aws(backend: str) -> Iterator[AwsClients]:
    """Give clients of one backend; moto starts empty, the emulator keeps what others left there."""
    with mock_aws() if backend == "moto" else nullcontext():
        yield _make_clients(backend)


def new_name() -> str:
    """Return a name nothing else has."""
    return f"t{uuid.uuid4().hex}"


def new_identifier() -> str:
    """Return a fresh identifier."""
    return str(uuid.uuid4())


def create_table(client: "DynamoDBClient", *, sort: Literal["S", "N"] | None) -> str:
    """Create a table as the stack declares them; return its name."""
    keys: list[KeySchemaElementTypeDef] = [{"AttributeName": "pk", "KeyType": "HASH"}]
    attributes: list[AttributeDefinitionTypeDef] = [{"AttributeName": "pk", "AttributeType": "S"}]
    if sort:
        keys.append({"AttributeName": "sk", "KeyType": "RANGE"})
        attributes.append({"AttributeName": "sk", "AttributeType": sort})
    name = new_name()
    client.create_table(
        TableName=name, KeySchema=keys, AttributeDefinitions=attributes, BillingMode="PAY_PER_REQUEST"
    )
    return name


def _answer_in_turn(request: Any, *, event_name: str, **_: Any) -> Any:
    """Let moto answer one request at a time, as a store does: its own check and write are two steps."""
    with _MOTO:
        return botocore_stubber(event_name=event_name, request=request)


@functools.cache
def _make_clients(backend: str) -> AwsClients:
    clients = AwsClients()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_ENDPOINT_URL", raising=False)
        if backend == "emulator":
            patch.setenv("AWS_ENDPOINT_URL", EMULATOR_URL)
        _ = (
            clients.dynamodb,
            clients.sqs,
            clients.s3,
            clients.secrets,
            clients.ssm,
        )  # they read the address when made
    if backend == "moto":
        events: Any = clients.dynamodb.meta.events  # its stub forgets that handlers may answer
        events.unregister("before-send", botocore_stubber)
        events.register("before-send", _answer_in_turn)
    return clients

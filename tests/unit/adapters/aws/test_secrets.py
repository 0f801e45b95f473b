"""Secrets, kept for a while."""

from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.secrets import SecretsReader

from tests.contract.aws_backends import start_aws
from tests.fakes.clock import FixedClock


@pytest.fixture
def clients() -> Iterator[AwsClients]:
    with start_aws("moto") as clients:
        yield clients


def test_a_secret_is_read_once_and_again_after_five_minutes(clients: AwsClients) -> None:
    arn = clients.secrets.create_secret(Name="s", SecretString="old")["ARN"]
    clock = FixedClock()
    secrets = SecretsReader(clients.secrets, clock)
    before = secrets.fetch_secret(arn)

    clients.secrets.put_secret_value(SecretId=arn, SecretString="new")
    clock.advance(299)
    kept = secrets.fetch_secret(arn)
    clock.advance(1)

    assert (before, kept, secrets.fetch_secret(arn)) == ("old", "old", "new")


def test_secrets_are_told_apart(clients: AwsClients) -> None:
    arns = [clients.secrets.create_secret(Name=name, SecretString=name)["ARN"] for name in ("a", "b")]
    secrets = SecretsReader(clients.secrets, FixedClock())

    assert [secrets.fetch_secret(arn) for arn in arns] == ["a", "b"]


def test_a_secret_that_is_not_there_is_our_bug(clients: AwsClients) -> None:
    with pytest.raises(ClientError):
        SecretsReader(clients.secrets, FixedClock()).fetch_secret("nowhere")

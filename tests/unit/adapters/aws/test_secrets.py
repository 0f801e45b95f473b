"""Secrets, kept for a while."""

import threading
from collections.abc import Callable, Iterator

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


class Later:
    """Work that waits until a test lets it happen."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, work: Callable[[], None]) -> None:
        self.waiting.append(work)

    def happen(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


@pytest.mark.req("A-SSM-03", "A-SSM-07")
def test_a_secret_is_kept_for_five_minutes_and_then_served_while_it_is_read_behind(
    clients: AwsClients,
) -> None:
    arn = clients.secrets.create_secret(Name="s", SecretString="old")["ARN"]
    clock, later = FixedClock(), Later()
    secrets = SecretsReader(clients.secrets, clock, behind=later)
    assert secrets.fetch_secret(arn) == "old"

    clients.secrets.put_secret_value(SecretId=arn, SecretString="new")
    clock.advance(299)
    assert (secrets.fetch_secret(arn), later.waiting) == ("old", [])
    clock.advance(1)
    assert [secrets.fetch_secret(arn) for _ in range(5)] == ["old"] * 5
    assert len(later.waiting) == 1

    later.happen()
    assert secrets.fetch_secret(arn) == "new"


@pytest.mark.req("A-SSM-07")
def test_an_outage_keeps_the_secret_and_is_asked_again_after_five_seconds(clients: AwsClients) -> None:
    arn = clients.secrets.create_secret(Name="s", SecretString="old")["ARN"]
    clock, later = FixedClock(), Later()
    secrets = SecretsReader(clients.secrets, clock, behind=later)
    secrets.fetch_secret(arn)
    clients.secrets.delete_secret(SecretId=arn)

    clock.advance(300)
    assert secrets.fetch_secret(arn) == "old"
    later.happen()
    assert (secrets.fetch_secret(arn), later.waiting) == ("old", [])

    clients.secrets.restore_secret(SecretId=arn)
    clients.secrets.put_secret_value(SecretId=arn, SecretString="new")
    clock.advance(5)
    assert secrets.fetch_secret(arn) == "old"
    later.happen()
    assert secrets.fetch_secret(arn) == "new"


def test_a_thread_reads_behind_whoever_asked(clients: AwsClients) -> None:
    arn = clients.secrets.create_secret(Name="s", SecretString="old")["ARN"]
    clock = FixedClock()
    secrets = SecretsReader(clients.secrets, clock)
    secrets.fetch_secret(arn)
    clients.secrets.put_secret_value(SecretId=arn, SecretString="new")
    clock.advance(300)
    secrets.fetch_secret(arn)

    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread():
            thread.join(5)
    assert secrets.fetch_secret(arn) == "new"


def test_secrets_are_told_apart(clients: AwsClients) -> None:
    arns = [clients.secrets.create_secret(Name=name, SecretString=name)["ARN"] for name in ("a", "b")]
    secrets = SecretsReader(clients.secrets, FixedClock())

    assert [secrets.fetch_secret(arn) for arn in arns] == ["a", "b"]


def test_a_secret_that_is_not_there_is_our_bug(clients: AwsClients) -> None:
    with pytest.raises(ClientError):
        SecretsReader(clients.secrets, FixedClock()).fetch_secret("nowhere")

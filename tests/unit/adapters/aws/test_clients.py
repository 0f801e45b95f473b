"""How AWS clients are made."""

from typing import Any

import pytest
from equerry.adapters.aws.clients import AwsClients


def test_a_client_is_made_once() -> None:
    clients = AwsClients()

    assert clients.dynamodb is clients.dynamodb
    assert clients.push("https://a.test/live") is clients.push("https://a.test/live")
    assert clients.push("https://a.test/live") is not clients.push("https://b.test/live")


def test_every_service_is_found_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:45099")
    clients = AwsClients()

    addresses = {
        client.meta.endpoint_url for client in (clients.dynamodb, clients.sqs, clients.s3, clients.secrets)
    }

    assert addresses == {"http://127.0.0.1:45099"}
    assert clients.push("http://127.0.0.1:1/x").meta.endpoint_url == "http://127.0.0.1:1/x"


def test_no_call_outlasts_a_request_to_the_api() -> None:
    clients = AwsClients()
    for client in (
        clients.dynamodb,
        clients.sqs,
        clients.s3,
        clients.secrets,
        clients.push("https://a.test"),
    ):
        config: Any = client.meta.config  # its options are attributes that no stub knows

        assert config.retries["total_max_attempts"] == 3
        assert 3 * (config.connect_timeout + config.read_timeout) < 25

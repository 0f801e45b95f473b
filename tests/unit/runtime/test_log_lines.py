"""No log line holds a credential, whoever wrote it."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from aws_lambda_powertools import Logger
from equerry.runtime.observability import ScrubbingFilter, hold_secrets, write_line

from tests.unit.runtime.test_http_app import Api
from tests.unit.services.world import World

CANARY = "canary-0f9e8d7c6b5a"


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    yield
    hold_secrets()


@pytest.fixture
def lines() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def logger(lines: io.StringIO, request: pytest.FixtureRequest) -> Logger:
    handler = logging.StreamHandler(lines)
    return Logger(service=request.node.name, logger_handler=handler, json_serializer=write_line)


@pytest.mark.req("A-RED-01")
def test_a_field_under_a_credential_like_name_is_redacted_and_counts_stay(
    logger: Logger, lines: io.StringIO
) -> None:
    logger.info("tried", extra={"detail": {"apiKey": CANARY}, "gen_ai.usage.input_tokens": 12})

    line = json.loads(lines.getvalue())
    assert (line["message"], line["detail"], line["gen_ai.usage.input_tokens"]) == (
        "tried",
        {"apiKey": "[redacted]"},
        12,
    )


@pytest.mark.req("A-RED-02", "A-RED-03")
def test_messages_and_tracebacks_lose_shapes_and_the_value_in_use(logger: Logger, lines: io.StringIO) -> None:
    hold_secrets(CANARY)

    try:
        raise RuntimeError(f"driver said {CANARY} and Bearer abc.def-123456")
    except RuntimeError:
        logger.exception("broke with prefix%s", CANARY)

    text = lines.getvalue()
    assert CANARY not in text
    assert "abc.def-123456" not in text
    assert "RuntimeError" in text


@pytest.mark.req("A-RED-03")
def test_what_a_library_logs_is_scrubbed_as_well(lines: io.StringIO) -> None:
    handler = logging.StreamHandler(lines)
    handler.addFilter(ScrubbingFilter())
    library = logging.Logger("library")
    library.addHandler(handler)

    try:
        raise RuntimeError("postgresql://runtime:hunter22@db/x")
    except RuntimeError:
        library.exception("sent %s", "AKIAABCDEFGHIJKLMNOP")

    text = lines.getvalue()
    assert "hunter22" not in text
    assert "AKIAABCDEFGHIJKLMNOP" not in text
    assert "RuntimeError" in text


@pytest.mark.req("A-RED-02")
def test_the_callers_token_is_held_while_a_request_is_served() -> None:
    api = Api(World())

    api("GET", "/conversations", token="ada-opaque-token")

    assert "ada-opaque-token" not in write_line({"message": "wrapped(ada-opaque-token)"})

"""The strict server is only worth something if botocore, with its own parser of frames, agrees with it."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, EventStreamError
from equerry.adapters.rounds.attempt import Timeouts
from urllib3.exceptions import HTTPError, ReadTimeoutError

from tests.contract.models.subjects import create_bedrock_client
from tests.strict import bedrock_events as wire
from tests.strict.bedrock_server import ACCESS_KEY, MODEL, StrictBedrockServer, serve_bedrock

USER = {"role": "user", "content": [{"text": "Hello"}]}
SPEC = {"name": "search_docs", "inputSchema": {"json": {"type": "object", "properties": {}}}}
TOOLS = {"tools": [{"toolSpec": SPEC}]}
CALL = {
    "role": "assistant",
    "content": [{"toolUse": {"toolUseId": "c1", "name": "search_docs", "input": {}}}],
}
RESULT = {"toolResult": {"toolUseId": "c1", "content": [{"text": "Nothing."}]}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "x", "signature": "forged"}}}


@pytest.fixture
def server() -> Iterator[StrictBedrockServer]:
    with serve_bedrock() as running:
        yield running


@pytest.fixture
def sdk(server: StrictBedrockServer) -> Iterator[Any]:
    with closing(create_bedrock_client(server.url, ACCESS_KEY, Timeouts(connect=1, idle=0.5))) as client:
        yield client


def converse(client: Any, **changes: Any) -> list[dict[str, Any]]:
    stream = client.converse_stream(**{"modelId": MODEL, "messages": [USER], **changes})["stream"]
    with closing(stream):
        return list(stream)


def test_botocore_reads_what_the_server_streams(server: StrictBedrockServer, sdk: Any) -> None:
    server.play(
        wire.message(
            wire.reasoning(), wire.text("Widgets ", "are painted."), wire.tool("{}"), stop="tool_use"
        )
    )

    events = converse(sdk)

    assert [next(iter(event)) for event in events][:2] == ["messageStart", "contentBlockDelta"]
    said = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    assert "".join(delta.get("text", "") for delta in said) == "Widgets are painted."
    assert events[-2]["messageStop"]["stopReason"] == "tool_use"
    assert events[-1]["metadata"]["usage"]["cacheReadInputTokens"] == 300


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"messages": []}, "must start with a user message"),
        ({"messages": [USER, USER]}, "roles must alternate"),
        ({"messages": [USER, {"role": "assistant", "content": [{"text": "Hi"}]}]}, "must end with a user"),
        ({"messages": [{"role": "user", "content": []}]}, "content field is empty"),
        ({"messages": [{"role": "user", "content": [{"text": " "}]}]}, "non-whitespace"),
        ({"messages": [{"role": "user", "content": [RESULT]}], "toolConfig": TOOLS}, "does not answer"),
        ({"messages": [USER, CALL, USER], "toolConfig": TOOLS}, "does not answer"),
        (
            {
                "messages": [USER, CALL, {"role": "user", "content": [{"text": "x"}, RESULT]}],
                "toolConfig": TOOLS,
            },
            "must come first",
        ),
        (
            {"messages": [USER, CALL, {"role": "user", "content": [RESULT]}]},
            "toolConfig field must be defined",
        ),
        ({"messages": [USER, {"role": "assistant", "content": [THOUGHT]}, USER]}, "Invalid `signature`"),
        ({"system": [{"text": " "}]}, "must not be blank"),
        ({"system": [{"cachePoint": {"type": "default"}}]}, "must follow"),
        (
            {
                "modelId": "meta.llama3-70b-instruct-v1:0",
                "system": [{"text": "x"}, {"cachePoint": {"type": "default"}}],
            },
            "prompt caching",
        ),
        (
            {
                "toolConfig": {**TOOLS, "toolChoice": {"tool": {"name": "search_docs"}}},
                "additionalModelRequestFields": {"thinking": {"type": "adaptive"}},
            },
            "forces tool use",
        ),
        ({"toolConfig": {**TOOLS, "toolChoice": {"tool": {"name": "other"}}}}, "no such tool"),
    ],
)
def test_an_illegal_request_is_refused_by_name(
    server: StrictBedrockServer, sdk: Any, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ClientError, match=said) as caught:
        converse(sdk, **changes)

    assert caught.value.response["Error"]["Code"] == "ValidationException"
    assert server.requests == []


def test_a_wrong_key_is_refused(server: StrictBedrockServer) -> None:
    with (
        closing(create_bedrock_client(server.url, "AKIAWRONG", Timeouts())) as client,
        pytest.raises(ClientError) as caught,
    ):
        converse(client)

    assert caught.value.response["Error"]["Code"] == "UnrecognizedClientException"


def test_one_attempt_is_made_and_headers_are_kept(server: StrictBedrockServer, sdk: Any) -> None:
    server.play(*[wire.Failure(429, "ThrottlingException", {"retry-after": "3"})] * 3)

    with pytest.raises(ClientError) as caught:
        converse(sdk)

    assert len(server.requests) == 1
    meta = caught.value.response["ResponseMetadata"]
    assert (meta["HTTPHeaders"]["retry-after"], meta["RequestId"]) == ("3", "req_1")


def test_an_exception_in_mid_stream_is_raised_under_a_status_that_was_200(
    server: StrictBedrockServer, sdk: Any
) -> None:
    server.play((*wire.message(wire.text("Half"))[:2], wire.exception("modelStreamErrorException")))

    with pytest.raises(EventStreamError) as caught:
        converse(sdk)

    assert caught.value.response["Error"]["Code"] == "modelStreamErrorException"


def test_a_clean_end_without_the_terminal_event_goes_unnoticed_by_botocore(
    server: StrictBedrockServer, sdk: Any
) -> None:
    server.play((*wire.message(wire.text("Half"))[:2], wire.Finish()))

    assert "contentBlockDelta" in converse(sdk)[-1]


def test_a_dropped_or_silent_socket_leaks_the_http_librarys_error(
    server: StrictBedrockServer, sdk: Any
) -> None:
    half = wire.message(wire.text("Half"))[:2]
    server.play((*half, wire.Drop()), (*half, wire.Stall(2)))

    with pytest.raises(HTTPError):
        converse(sdk)
    with pytest.raises(ReadTimeoutError):
        converse(sdk)


def test_a_socket_that_dies_before_the_reply_is_botocores_own_error(
    server: StrictBedrockServer, sdk: Any
) -> None:
    server.play(wire.Drop())

    with pytest.raises(ConnectionClosedError):
        converse(sdk)

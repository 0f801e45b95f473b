"""The strict server is only worth something if the vendor's own SDK agrees with it."""

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import pytest

from tests.strict import anthropic_events as wire
from tests.strict.anthropic_server import KEY, StrictAnthropicServer, serve_anthropic

TOOL = {"name": "search_docs", "description": "Search.", "input_schema": {"type": "object", "properties": {}}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "search_docs", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Nothing."}
USER = {"role": "user", "content": "Hello"}


@pytest.fixture
def server() -> Iterator[StrictAnthropicServer]:
    with serve_anthropic() as running:
        yield running


@pytest.fixture
def sdk(server: StrictAnthropicServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0, timeout=5) as client:
        yield client


def create(client: anthropic.Anthropic, **changes: Any) -> list[Any]:
    body = {"model": "claude-test-1", "max_tokens": 64, "messages": [USER], **changes}
    with client.messages.create(**body, stream=True) as stream:
        return list(stream)


def test_the_sdk_assembles_what_the_server_streams(
    server: StrictAnthropicServer, sdk: anthropic.Anthropic
) -> None:
    server.play(
        wire.message(
            wire.thinking("Let me see."),
            wire.text("Widgets ", "are painted."),
            wire.tool('{"query": "wid', 'gets"}'),
            stop="tool_use",
            reasoning_tokens=7,
        )
    )

    with sdk.messages.stream(
        model="claude-test-1",
        max_tokens=64,
        messages=[{"role": "user", "content": "Hello"}],
        tools=[{"name": "search_docs", "input_schema": {"type": "object", "properties": {}}}],
    ) as stream:
        message = stream.get_final_message()

    thought, said, called = message.content
    assert thought.type == "thinking"
    assert (thought.thinking, thought.signature) == ("Let me see.", "sig-1")
    assert said.type == "text"
    assert said.text == "Widgets are painted."
    assert called.type == "tool_use"
    assert called.input == {"query": "widgets"}
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (11, 42)
    assert message.usage.cache_read_input_tokens == 300


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"messages": []}, "at least one message"),
        ({"messages": [USER, USER]}, "roles must alternate"),
        ({"messages": [{"role": "assistant", "content": "Hi"}]}, "roles must alternate"),
        ({"messages": [USER, {"role": "assistant", "content": "Hi"}]}, "must end with a user message"),
        ({"messages": [{"role": "user", "content": " "}]}, "non-whitespace"),
        ({"messages": [{"role": "user", "content": []}]}, "non-empty content"),
        ({"messages": [{"role": "user", "content": [RESULT]}], "tools": [TOOL]}, "does not answer"),
        (
            {"messages": [USER, {"role": "assistant", "content": [CALL]}, USER], "tools": [TOOL]},
            "does not answer",
        ),
        (
            {
                "messages": [
                    USER,
                    {"role": "assistant", "content": [CALL]},
                    {"role": "user", "content": [{"type": "text", "text": "x"}, RESULT]},
                ],
                "tools": [TOOL],
            },
            "must come first",
        ),
        (
            {
                "messages": [
                    USER,
                    {"role": "assistant", "content": [CALL]},
                    {"role": "user", "content": [RESULT]},
                ]
            },
            "required when messages hold tool blocks",
        ),
        (
            {
                "messages": [
                    USER,
                    {
                        "role": "assistant",
                        "content": [{"type": "thinking", "thinking": "x", "signature": "forged"}],
                    },
                    USER,
                ]
            },
            "Invalid `signature`",
        ),
        ({"max_tokens": 0}, "max_tokens"),
        ({"system": [{"type": "text", "text": ""}]}, "non-empty"),
        ({"tools": [TOOL, TOOL]}, "unique"),
        ({"tools": [{**TOOL, "input_schema": {"type": "string"}}]}, "must be an object"),
        ({"tool_choice": {"type": "none"}}, "while providing tools"),
        (
            {
                "tools": [TOOL],
                "tool_choice": {"type": "tool", "name": "search_docs"},
                "thinking": {"type": "adaptive"},
            },
            "Thinking may not be enabled",
        ),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "not supported"),
        ({"extra_body": {"temperature": 0.1}}, "temperature: Extra inputs"),
        ({"extra_body": {"top_p": 0.1}}, "top_p: Extra inputs"),
        ({"extra_headers": {"anthropic-version": ""}}, "anthropic-version"),
    ],
)
def test_an_illegal_request_is_refused_by_name(
    server: StrictAnthropicServer, sdk: anthropic.Anthropic, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=said):
        create(sdk, **changes)

    assert server.requests == []
    assert len(server.violations) == 1


def test_a_wrong_key_is_refused(server: StrictAnthropicServer) -> None:
    with (
        anthropic.Anthropic(api_key="wrong", base_url=server.url, max_retries=0) as client,
        pytest.raises(anthropic.AuthenticationError),
    ):
        create(client)


def test_an_error_status_carries_its_headers(server: StrictAnthropicServer, sdk: anthropic.Anthropic) -> None:
    server.play(wire.Failure(529, "overloaded_error", {"retry-after": "3"}))

    with pytest.raises(anthropic.OverloadedError) as caught:
        create(sdk)

    assert caught.value.response.headers["retry-after"] == "3"


def test_an_error_in_mid_stream_has_status_200(
    server: StrictAnthropicServer, sdk: anthropic.Anthropic
) -> None:
    server.play((*wire.message(wire.text("Half"))[:4], wire.error("overloaded_error")))

    with pytest.raises(anthropic.APIStatusError) as caught:
        create(sdk)

    assert (caught.value.status_code, caught.value.type) == (200, "overloaded_error")


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (lambda: wire.Drop(), httpx2.TransportError),
        (lambda: wire.Stall(1.0), httpx2.ReadTimeout),
    ],
)
def test_a_dropped_or_silent_socket_leaks_the_http_librarys_error(
    server: StrictAnthropicServer, fault: Callable[[], wire.Item], raised: type[Exception]
) -> None:
    server.play((*wire.message(wire.text("Half"))[:4], fault()))

    with (
        anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0, timeout=0.3) as client,
        pytest.raises(raised),
    ):
        create(client)


def test_a_clean_end_without_the_terminal_event_goes_unnoticed_by_the_sdk(
    server: StrictAnthropicServer, sdk: anthropic.Anthropic
) -> None:
    server.play((*wire.message(wire.text("Half"))[:4], wire.Finish()))

    assert [event.type for event in create(sdk)][-1] == "content_block_delta"


def test_a_socket_that_dies_before_the_reply_is_a_connection_error(
    server: StrictAnthropicServer, sdk: anthropic.Anthropic
) -> None:
    server.play(wire.Drop())

    with pytest.raises(anthropic.APIConnectionError):
        create(sdk)

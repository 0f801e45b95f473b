"""The strict server is only worth something if the vendor's own SDK agrees with it."""

from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest

from tests.strict import openai_events as wire
from tests.strict.openai_server import KEY, StrictOpenAiServer, serve_openai

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}
CLOSED = {**SCHEMA, "required": ["query"], "additionalProperties": False}
TOOL = {"type": "function", "name": "search_docs", "parameters": SCHEMA, "strict": False}
USER = {"role": "user", "content": "Hello"}
CALL = {"type": "function_call", "call_id": "c1", "name": "search_docs", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "Nothing."}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "forged"}


@pytest.fixture
def server() -> Iterator[StrictOpenAiServer]:
    with serve_openai() as running:
        yield running


@pytest.fixture
def sdk(server: StrictOpenAiServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=0, timeout=5) as client:
        yield client


def create(client: openai.OpenAI, **changes: Any) -> list[Any]:
    body = {"model": "gpt-test-1", "input": [USER], "store": False, **changes}
    with client.responses.create(**body, stream=True) as stream:
        return list(stream)


def test_the_sdk_assembles_what_the_server_streams(server: StrictOpenAiServer, sdk: openai.OpenAI) -> None:
    server.play(
        wire.response(
            wire.reasoning("Let me see."),
            wire.text("Widgets ", "are painted."),
            wire.tool('{"query": "w', 'x"}'),
        )
    )

    with sdk.responses.stream(model="gpt-test-1", input="Hello", store=False) as stream:
        response = stream.get_final_response()

    thought, said, called = response.output
    assert thought.type == "reasoning"
    assert (thought.summary[0].text, thought.encrypted_content) == ("Let me see.", "enc-1")
    assert said.type == "message"
    assert response.output_text == "Widgets are painted."
    assert called.type == "function_call"
    assert called.arguments == '{"query": "wx"}'
    assert response.usage is not None
    assert response.usage.input_tokens_details.cached_tokens == 300


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"input": []}, "input"),
        ({"input": [RESULT]}, "No tool call found"),
        ({"input": [USER, CALL]}, "No tool output found"),
        ({"input": [USER, CALL, CALL, RESULT]}, "Duplicate call_id"),
        ({"input": [USER, REASONING, CALL, RESULT]}, "cannot be verified"),
        ({"input": [{"role": "user", "content": " "}]}, "blank"),
        ({"input": [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}]}, "output_text"),
        ({"input": [{"role": "wizard", "content": "x"}]}, "wizard"),
        ({"max_output_tokens": 15}, "max_output_tokens"),
        ({"tools": [{**TOOL, "strict": True}]}, "additionalProperties"),
        ({"tools": [{**TOOL, "strict": True, "parameters": {**CLOSED, "required": []}}]}, "required"),
        ({"tools": [{key: TOOL[key] for key in ("type", "name", "parameters")}]}, "additionalProperties"),
        ({"tools": [TOOL, TOOL]}, "Duplicate tool names"),
        ({"tools": [{**TOOL, "name": "a tool"}]}, "does not match pattern"),
        ({"tool_choice": "auto"}, "Tool choice"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "name": "other"}}, "not found"),
        ({"reasoning": {"effort": "enormous"}}, "effort"),
        ({"prompt_cache_key": "x" * 65}, "too long"),
        ({"extra_body": {"temperature_": 1}}, "Unknown parameter"),
        ({"store": True}, "store"),
    ],
)
def test_an_illegal_request_is_refused_by_name(
    server: StrictOpenAiServer, sdk: openai.OpenAI, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=said):
        create(sdk, **changes)

    assert server.requests == []
    assert len(server.violations) == 1


def test_a_model_that_does_not_reason_refuses_to_be_asked(
    server: StrictOpenAiServer, sdk: openai.OpenAI
) -> None:
    server.reasoning_models = False

    with pytest.raises(openai.BadRequestError, match="not supported"):
        create(sdk, reasoning={"effort": "low"})


def test_a_strict_tool_with_a_closed_schema_is_taken(server: StrictOpenAiServer, sdk: openai.OpenAI) -> None:
    server.play(wire.response(wire.text("So.")))

    create(sdk, tools=[{**TOOL, "strict": True, "parameters": CLOSED}])

    assert server.violations == []


def test_a_wrong_key_is_refused(server: StrictOpenAiServer) -> None:
    with (
        openai.OpenAI(api_key="wrong", base_url=server.url, max_retries=0) as client,
        pytest.raises(openai.AuthenticationError),
    ):
        create(client)


def test_an_error_status_carries_its_code_and_headers(server: StrictOpenAiServer, sdk: openai.OpenAI) -> None:
    server.play(wire.Failure(429, "rate_limit_exceeded", {"retry-after": "3"}))

    with pytest.raises(openai.RateLimitError) as caught:
        create(sdk)

    assert (caught.value.code, caught.value.response.headers["retry-after"]) == ("rate_limit_exceeded", "3")
    assert caught.value.request_id == "req_1"


def test_an_error_event_is_yielded_and_not_raised(server: StrictOpenAiServer, sdk: openai.OpenAI) -> None:
    server.play((*wire.response(wire.text("Half"))[:4], wire.error("server_error")))

    assert create(sdk)[-1].type == "error"


def test_a_clean_end_without_the_terminal_event_goes_unnoticed_by_the_sdk(
    server: StrictOpenAiServer, sdk: openai.OpenAI
) -> None:
    server.play((*wire.response(wire.text("Half"))[:5], wire.Finish()))

    assert create(sdk)[-1].type == "response.output_text.delta"


def test_a_socket_that_dies_is_a_connection_error(server: StrictOpenAiServer, sdk: openai.OpenAI) -> None:
    server.play((*wire.response(wire.text("Half"))[:5], wire.Drop()))

    with pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
        create(sdk)

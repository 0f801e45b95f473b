"""The strict server is only worth something if the vendor's own SDK agrees with it."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import errors, types

from tests.strict import google_events as wire
from tests.strict.google_server import KEY, MODEL, StrictGoogleServer, serve_google

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}
TOOL = {
    "functionDeclarations": [
        {"name": "search_docs", "description": "Search.", "parametersJsonSchema": SCHEMA}
    ]
}
USER = {"role": "user", "parts": [{"text": "Hello"}]}
CALL = {"functionCall": {"name": "search_docs", "args": {}}}
RESULT = {"functionResponse": {"name": "search_docs", "response": {"output": "Nothing."}}}


@pytest.fixture
def server() -> Iterator[StrictGoogleServer]:
    with serve_google() as running:
        yield running


@pytest.fixture
def sdk(server: StrictGoogleServer) -> Iterator[genai.Client]:
    with connect(server) as client:
        yield client


def connect(server: StrictGoogleServer, key: str = KEY, timeout_ms: int = 5_000) -> genai.Client:
    options = types.HttpOptions(base_url=server.url, api_version="v1beta", timeout=timeout_ms)
    return genai.Client(api_key=key, http_options=options)


def ask(client: genai.Client, contents: Any = USER, **config: Any) -> list[types.GenerateContentResponse]:
    config |= {"automatic_function_calling": {"disable": True}}
    stream = client.models.generate_content_stream(
        model=MODEL, contents=contents, config=types.GenerateContentConfig(**config)
    )
    return list(stream)


def post(server: StrictGoogleServer, **body: Any) -> httpx2.Response:
    """What the SDK would never send."""
    path = f"{server.url}/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
    return httpx2.post(path, json={"contents": [USER], **body}, headers={"x-goog-api-key": KEY})


def test_the_sdk_assembles_what_the_server_streams(server: StrictGoogleServer, sdk: genai.Client) -> None:
    server.play(
        wire.answer(
            wire.thought("Let me see."),
            wire.text("Widgets ", "are painted."),
            wire.call(signature="c2ln", call_id="fc-1"),
        )
    )

    chunks = ask(sdk, tools=[TOOL], max_output_tokens=64)

    parts = [part for chunk in chunks for part in (chunk.parts or [])]
    thought, *said, called, _ = parts
    assert (thought.thought, thought.text) == (True, "Let me see.")
    assert "".join(part.text or "" for part in said) == "Widgets are painted."
    assert called.function_call is not None
    assert (called.function_call.args, called.function_call.id) == ({"query": "widgets"}, "fc-1")
    assert called.thought_signature == b"sig"
    usage = chunks[-1].usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count, usage.cached_content_token_count) == (331, 300)
    assert (usage.candidates_token_count, usage.thoughts_token_count) == (35, 7)
    assert chunks[-1].candidates is not None
    assert chunks[-1].candidates[0].finish_reason == types.FinishReason.STOP
    assert server.violations == []


def test_the_sdks_own_chat_is_legal_with_its_signatures(
    server: StrictGoogleServer, sdk: genai.Client
) -> None:
    server.play(
        wire.answer(wire.call(signature="c2ln"), wire.call(args={"query": "b"})),
        wire.answer(wire.text("So.")),
    )
    config = types.GenerateContentConfig(
        tools=[types.Tool.model_validate(TOOL)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    chat = sdk.chats.create(model=MODEL, config=config)

    list(chat.send_message_stream("Hello"))
    answers = [types.Part.from_function_response(name="search_docs", response={"output": "x"})] * 2
    list(chat.send_message_stream(answers))

    assert server.violations == []
    said = [
        part for each in server.requests[1]["contents"] if each["role"] == "model" for part in each["parts"]
    ]
    assert [part.get("thoughtSignature") for part in said if "functionCall" in part] == ["c2ln", None]


def test_the_sdk_asks_for_json_and_for_thoughts_as_the_server_knows_them(
    server: StrictGoogleServer, sdk: genai.Client
) -> None:
    server.play(wire.answer(wire.text('{"query": "x"}')))

    ask(
        sdk,
        response_mime_type="application/json",
        response_json_schema=SCHEMA,
        thinking_config={"thinking_level": "LOW", "include_thoughts": True},
        system_instruction="Be brief.",
    )

    assert server.violations == []
    assert server.requests[0]["generationConfig"]["responseJsonSchema"] == SCHEMA


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"contents": []}, "contents is not specified"),
        ({"contents": [{"role": "assistant", "parts": [{"text": "Hi"}]}]}, "valid role"),
        ({"contents": [USER, {"role": "model", "parts": [{"text": "Hi"}]}]}, "ends with a user turn"),
        ({"contents": [{"role": "user", "parts": []}]}, "parts"),
        ({"contents": [{"role": "user", "parts": [{"text": " "}]}]}, "must not be blank"),
        ({"contents": [{"role": "user", "parts": [{}]}]}, "oneof field"),
        ({"contents": [{"role": "user", "parts": [RESULT]}]}, "number of function response parts"),
        ({"contents": [USER, {"role": "model", "parts": [CALL]}, USER]}, "thought_signature"),
        (
            {"contents": [USER, {"role": "model", "parts": [{**CALL, "thoughtSignature": "forged"}]}]},
            "Corrupted thought signature",
        ),
        ({"contents": [{"role": "user", "parts": [CALL]}]}, "only the model's"),
        ({"systemInstruction": {"parts": [{"text": ""}]}}, "must not be blank"),
        ({"tools": [{"functionDeclarations": []}]}, "must not be empty"),
        ({"tools": [TOOL, TOOL]}, "Duplicate function declaration"),
        ({"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}, "without function_declarations"),
        (
            {"tools": [TOOL], "generationConfig": {"responseMimeType": "application/json"}},
            "Function calling with a response mime type",
        ),
        ({"generationConfig": {"responseJsonSchema": SCHEMA}}, "needs response_mime_type"),
        ({"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}}, "thinking_level"),
        ({"generationConfig": {"maxTokens": 5}}, "Unknown name"),
        ({"max_tokens": 5}, "Unknown name"),
    ],
)
def test_an_illegal_request_is_refused_by_name(
    server: StrictGoogleServer, body: dict[str, Any], said: str
) -> None:
    refusal = post(server, **body)

    assert refusal.status_code == 400
    assert said in refusal.json()["error"]["message"]
    assert server.requests == []


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "object", "properties": {"a": {"const": 1}}}, "Unknown name"),
        ({"type": "object", "properties": {"a": {"enum": [None]}}}, "enum"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}}, "leads nowhere"),
        ({"type": "object", "required": ["a"]}, "property is not defined"),
        (
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/x"}},
                "$defs": {"x": {"items": {"$ref": "#/$defs/x"}}},
            },
            "cyclic",
        ),
        ({"type": "object", "properties": {"a": {"format": "uuid"}}}, "format"),
        ({"type": "object", "description": "x" * 70_000}, "too large"),
    ],
)
def test_a_schema_beyond_the_subset_is_refused_by_name(
    server: StrictGoogleServer, sdk: genai.Client, schema: dict[str, Any], said: str
) -> None:
    tool = {"functionDeclarations": [{"name": "f", "description": "x", "parametersJsonSchema": schema}]}

    with pytest.raises(errors.ClientError, match=said.replace("$", "\\$")):
        ask(sdk, tools=[tool])


def test_a_wrong_key_has_the_status_of_a_wrong_request(server: StrictGoogleServer) -> None:
    with connect(server, key="wrong") as client, pytest.raises(errors.ClientError) as caught:
        ask(client)

    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")


def test_an_error_status_is_raised_by_its_kind(server: StrictGoogleServer, sdk: genai.Client) -> None:
    server.play(wire.Failure(503, "UNAVAILABLE"))

    with pytest.raises(errors.ServerError) as caught:
        ask(sdk)

    assert (caught.value.code, caught.value.status) == (503, "UNAVAILABLE")


@pytest.mark.parametrize(
    ("fault", "raised"),
    [(lambda: wire.Drop(), httpx2.TransportError), (lambda: wire.Stall(1.0), httpx2.ReadTimeout)],
)
def test_a_dropped_or_silent_socket_leaks_the_http_librarys_error(
    server: StrictGoogleServer, fault: Callable[[], wire.Item], raised: type[Exception]
) -> None:
    server.play((*wire.answer(wire.text("Half"))[:1], fault()))

    with connect(server, timeout_ms=300) as client, pytest.raises(raised):
        ask(client)


def test_a_clean_end_without_a_reason_to_finish_goes_unnoticed_by_the_sdk(
    server: StrictGoogleServer, sdk: genai.Client
) -> None:
    server.play((*wire.answer(wire.text("Half"))[:1], wire.Finish()))

    (only,) = ask(sdk)

    assert only.text == "Half"


def test_the_sdk_does_not_obey_retry_after(server: StrictGoogleServer, sdk: genai.Client) -> None:
    server.play(wire.Failure(429, "RESOURCE_EXHAUSTED", {"retry-after": "1"}), wire.answer(wire.text("So.")))

    with pytest.raises(errors.ClientError):
        ask(sdk)

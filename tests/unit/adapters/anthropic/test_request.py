from datetime import UTC, datetime

import anthropic
import httpx2
import pytest
from equerry.adapters.anthropic.failures import read_status_error
from equerry.adapters.anthropic.request import continue_request, encode_request
from equerry.engine.messages import OpaqueBlock, TextBlock, ToolCallBlock, ToolResultBlock
from equerry.engine.thread import Thread
from equerry.kernel.identifiers import ToolCallId

from tests.contract.models.requests import ask

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def messages(thread: Thread) -> list[dict[str, object]]:
    encoded: list[dict[str, object]] = encode_request(ask("", thread=thread), model="m")["messages"]
    return encoded


def test_results_come_before_anything_else_that_is_said() -> None:
    call = ToolCallBlock(call_id=ToolCallId("c1"), tool="search_docs", arguments={"query": "x"})
    result = ToolResultBlock(call_id=ToolCallId("c1"), content="Nothing.")
    thread = Thread().say("Hello").answer(call).resolve(result).say("Be quick.")

    kinds = [block["type"] for block in messages(thread)[-1]["content"]]  # type: ignore[attr-defined]  # JSON

    assert kinds == ["tool_result", "text"]


def test_another_providers_state_is_not_sent_and_roles_alternate_without_it() -> None:
    foreign = OpaqueBlock(provider="another", payload="secret")

    mixed = messages(Thread().say("Hello").answer(foreign, TextBlock("Hi.")).say("Well?"))
    alone = messages(Thread().say("Hello").answer(foreign).say("Well?"))

    assert mixed[1]["content"] == [{"type": "text", "text": "Hi."}]
    assert [message["role"] for message in alone] == ["user"]
    assert alone[0]["content"] == [{"type": "text", "text": "Hello"}, {"type": "text", "text": "Well?"}]


def test_no_sampling_parameter_and_nothing_empty_is_sent() -> None:
    body = encode_request(ask(tools=(), stable=" ", dynamic=""), model="m")

    assert sorted(body) == ["max_tokens", "messages", "model"]


def test_a_turn_that_pauses_twice_stays_one_message() -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}]}
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": " "}]

    again = continue_request(continue_request(body, blocks), [{"type": "text", "text": "b"}])

    assert [message["role"] for message in again["messages"]] == ["user", "assistant"]
    assert [block["text"] for block in again["messages"][1]["content"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2025 00:00:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "0"}, None),
    ],
)
def test_retry_after_is_read_in_each_of_its_forms(headers: dict[str, str], expected: float | None) -> None:
    response = httpx2.Response(429, headers=headers, request=httpx2.Request("POST", "http://x"))
    error = anthropic.RateLimitError("busy", response=response, body=None)

    assert read_status_error(error, NOW).retry_after_s == expected

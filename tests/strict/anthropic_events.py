"""Messages as the strict Anthropic server streams them."""

from tests.strict.replies import (
    Drop,
    Event,
    Failure,
    Finish,
    Item,
    Json,
    Raw,
    Reply,
    Stall,
    Stream,
    Then,
)

__all__ = ["Drop", "Event", "Failure", "Finish", "Item", "Json", "Raw", "Reply", "Stall", "Stream", "Then"]

USAGE: Json = {
    "input_tokens": 11,
    "cache_read_input_tokens": 300,
    "cache_creation_input_tokens": 20,
    "output_tokens": 1,
    "service_tier": "standard",
}


def text(*deltas: str) -> list[Json]:
    """A text block, as the block and its deltas."""
    return [{"type": "text", "text": ""}, *({"type": "text_delta", "text": delta} for delta in deltas)]


def tool(*parts: str, call_id: str = "toolu_1", name: str = "search_docs") -> list[Json]:
    """A tool call whose input arrives as pieces of JSON."""
    block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return [block, *({"type": "input_json_delta", "partial_json": part} for part in parts)]


def thinking(words: str, *, signature: str = "sig-1") -> list[Json]:
    """A thinking block; a blank signature is one that was cut off."""
    block = {"type": "thinking", "thinking": "", "signature": ""}
    signed = [{"type": "signature_delta", "signature": signature}] if signature else []
    return [block, {"type": "thinking_delta", "thinking": words}, *signed]


def server_tool() -> list[Json]:
    """A tool that the provider runs itself."""
    block = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    return [block, {"type": "input_json_delta", "partial_json": '{"query": "widgets"}'}]


def message(
    *blocks: list[Json], stop: str = "end_turn", usage: Json | None = None, reasoning_tokens: int = 0
) -> tuple[Event, ...]:
    """A whole message, from message_start to message_stop."""
    start: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**USAGE, **(usage or {})},
    }
    events = [
        Event("message_start", {"type": "message_start", "message": start}),
        Event("ping", {"type": "ping"}),
    ]
    for index, (block, *deltas) in enumerate(blocks):
        events.append(_block_event("content_block_start", index, content_block=block))
        events += [_block_event("content_block_delta", index, delta=delta) for delta in deltas]
        events.append(_block_event("content_block_stop", index))
    end = {"stop_reason": stop, "stop_sequence": None}
    spent: Json = {"output_tokens": 42, "output_tokens_details": {"thinking_tokens": reasoning_tokens}}
    events.append(Event("message_delta", {"type": "message_delta", "delta": end, "usage": spent}))
    events.append(Event("message_stop", {"type": "message_stop"}))
    return tuple(events)


def error(kind: str) -> Event:
    """An error in mid-stream, under a status that was 200."""
    return Event("error", {"type": "error", "error": {"type": kind, "message": "about the prompt"}})


def _block_event(name: str, index: int, **more: Json) -> Event:
    return Event(name, {"type": name, "index": index, **more})

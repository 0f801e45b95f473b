"""Responses as the strict OpenAI server streams them."""

import json

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
    "input_tokens": 331,
    "input_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 20},
    "output_tokens": 42,
    "output_tokens_details": {"reasoning_tokens": 7},
    "total_tokens": 373,
}
_OPENED: Json = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "in_progress",
    "content": [],
}


def text(*deltas: str) -> list[Event]:
    """A message of words, as the events inside its output item."""
    part: Json = {"type": "output_text", "text": "".join(deltas), "annotations": []}
    return [
        _event("response.output_item.added", item=_OPENED),
        _event("response.content_part.added", part={**part, "text": ""}),
        *(_event("response.output_text.delta", item_id="msg_1", delta=delta) for delta in deltas),
        _event("response.output_text.done", item_id="msg_1", text="".join(deltas)),
        _event("response.content_part.done", part=part),
        _event("response.output_item.done", item=_message(part)),
    ]


def refusal(words: str) -> list[Event]:
    """A message in which the model declines."""
    part: Json = {"type": "refusal", "refusal": words}
    return [
        _event("response.output_item.added", item=_OPENED),
        _event("response.refusal.delta", item_id="msg_1", delta=words),
        _event("response.refusal.done", item_id="msg_1", refusal=words),
        _event("response.output_item.done", item=_message(part)),
    ]


def tool(*parts: str, call_id: str = "call_1", name: str = "search_docs") -> list[Event]:
    """A tool call whose arguments arrive as pieces of JSON."""
    item: Json = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name}
    done = {**item, "arguments": "".join(parts), "status": "completed"}
    return [
        _event("response.output_item.added", item={**item, "arguments": "", "status": "in_progress"}),
        *(_event("response.function_call_arguments.delta", item_id=item["id"], delta=part) for part in parts),
        _event("response.function_call_arguments.done", item_id=item["id"], arguments=done["arguments"]),
        _event("response.output_item.done", item=done),
    ]


def reasoning(summary: str = "Let me see.", *, encrypted: str | None = "enc-1") -> list[Event]:
    """Thoughts: a summary that can be read, and what must be sent back."""
    item: Json = {"type": "reasoning", "id": "rs_1", "summary": []}
    part: Json = {"type": "summary_text", "text": summary}
    return [
        _event("response.output_item.added", item=item),
        _event("response.reasoning_summary_part.added", item_id="rs_1", part={**part, "text": ""}),
        _event("response.reasoning_summary_text.delta", item_id="rs_1", delta=summary),
        _event("response.reasoning_summary_text.done", item_id="rs_1", text=summary),
        _event("response.output_item.done", item={**item, "summary": [part], "encrypted_content": encrypted}),
    ]


def response(
    *items: list[Event],
    end: str = "completed",
    reason: str | None = None,
    code: str | None = None,
    usage: Json | None = USAGE,
) -> tuple[Event, ...]:
    """A whole response, from response.created to its terminal event.

    `reason` says why it is incomplete, `code` why it failed.
    """
    events = [
        _event("response.created", response=_response("in_progress")),
        _event("response.in_progress", response=_response("in_progress")),
    ]
    for index, item in enumerate(items):
        events += [Event(each.name, {**each.data, "output_index": index}) for each in item]
    output = [each.data["item"] for item in items for each in item if each.name.endswith("output_item.done")]
    whole = _response(end, usage=usage, output=output)
    whole["incomplete_details"] = {"reason": reason} if reason else None
    whole["error"] = {"code": code, "message": "about the prompt"} if code else None
    events.append(_event(f"response.{end}", response=whole))
    return tuple(
        Event(each.name, {**each.data, "sequence_number": number}) for number, each in enumerate(events)
    )


def error(code: str | None) -> Event:
    """An error event, under a status that was 200."""
    return _event("error", code=code, message="about the prompt", param=None, sequence_number=3)


def _event(name: str, **data: object) -> Event:
    return Event(name, {"type": name, **json.loads(json.dumps(data)), **_PLACE.get(name, {})})


def _message(part: Json) -> Json:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _response(status: str, **more: object) -> Json:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-test-1",
        "status": status,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
        **more,
    }


_PLACE: dict[str, Json] = {
    "response.output_text.delta": {"content_index": 0, "logprobs": []},
    "response.output_text.done": {"content_index": 0, "logprobs": []},
    "response.content_part.added": {"content_index": 0, "item_id": "msg_1"},
    "response.content_part.done": {"content_index": 0, "item_id": "msg_1"},
    "response.refusal.delta": {"content_index": 0},
    "response.refusal.done": {"content_index": 0},
    "response.reasoning_summary_part.added": {"summary_index": 0},
    "response.reasoning_summary_text.delta": {"summary_index": 0},
    "response.reasoning_summary_text.done": {"summary_index": 0},
}

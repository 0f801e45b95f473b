"""A round in the form of the Responses API."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

from equerry.adapters.openai.strict import StrictForm, compile_strict
from equerry.adapters.rounds.encoding import is_worth_caching, list_messages
from equerry.engine.messages import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from equerry.engine.model import ModelRequest, ToolSpec
from equerry.ports.model import InputUnsupported

PROVIDER = "openai"
LEAST_OUTPUT_TOKENS = 16

Json = dict[str, Any]


def encode_request(request: ModelRequest, *, model: str, strict: StrictForm | None = None) -> Json:
    """Return the body's fields; `strict` is the forced tool's form.

    Nothing is stored there, so what the model needs again is in the input. What is stable goes first, as the
    instructions: the provider caches the longest prefix that it has seen, and a key keeps one prefix's
    requests together.
    """
    body: Json = {
        "model": model,
        "input": list(_encode_input(request)),
        "max_output_tokens": max(LEAST_OUTPUT_TOKENS, request.max_output_tokens),
        "store": False,
    }
    if request.prompt.stable.strip():
        body["instructions"] = request.prompt.stable
    if request.tools:
        forced = {request.forced_tool: strict} if strict is not None else {}
        body["tools"] = [_encode_tool(tool, forced.get(tool.name)) for tool in request.tools]
        body["tool_choice"] = _encode_choice(request)
    if request.forced_tool is not None:
        body["parallel_tool_calls"] = False
    if request.reasoning is not None:
        body["reasoning"] = {"effort": request.reasoning, "summary": "auto"}
    if is_worth_caching(request):
        body["prompt_cache_key"] = _derive_cache_key(body)
    return body


def _encode_choice(request: ModelRequest) -> Json | str:
    if request.forced_tool is not None:
        return {"type": "function", "name": request.forced_tool}
    return "auto" if request.tools_allowed else "none"


def _derive_cache_key(body: Json) -> str:
    prefix = json.dumps([body["model"], body["instructions"], body.get("tools")], sort_keys=True)
    return hashlib.sha256(prefix.encode()).hexdigest()[:32]


def find_strict(request: ModelRequest) -> StrictForm | None:
    """Return the forced tool in the strict subset; None where nothing is forced, or it cannot be said so."""
    forced = next((tool for tool in request.tools if tool.name == request.forced_tool), None)
    return None if forced is None else compile_strict(forced)


def _encode_tool(tool: ToolSpec, strict: StrictForm | None) -> Json:
    # Said aloud because the API's default is the opposite: its strict subset takes few schemas as they are.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description if strict is None else strict.description,
        "parameters": dict(tool.input_schema) if strict is None else strict.schema,
        "strict": strict is not None,
    }


def _encode_input(request: ModelRequest) -> Iterable[Json]:
    if request.prompt.dynamic.strip():
        yield {"role": "developer", "content": request.prompt.dynamic}
    for message in list_messages(request.thread, provider=PROVIDER):
        yield from _encode_message(message)


def _encode_message(message: Message) -> Iterable[Json]:
    """Calls, results and reasoning are items of their own; words between them are messages."""
    said: list[Json] = []
    for place, block in enumerate(message.blocks):
        if isinstance(block, OpaqueBlock) and place + 1 == len(message.blocks):
            continue  # reasoning is refused without the item that it led to
        if (item := _encode_item(block)) is None:
            said.append(_encode_part(block, message.role))
            continue
        yield from _close(said, message.role)
        said = []
        yield item
    yield from _close(said, message.role)


def _close(said: list[Json], role: str) -> Iterable[Json]:
    if said:
        yield {"type": "message", "role": role, "content": said}


def _encode_item(block: Block) -> Json | None:
    match block:
        case ToolCallBlock():
            arguments = json.dumps(dict(block.arguments))
            return {
                "type": "function_call",
                "call_id": block.call_id,
                "name": block.tool,
                "arguments": arguments,
            }
        case ToolResultBlock():
            return {"type": "function_call_output", "call_id": block.call_id, "output": block.content}
        case OpaqueBlock():
            state: Json = json.loads(block.payload)
            return state
        case _:
            return None


def _encode_part(block: Block, role: str) -> Json:
    match block:
        case ImageBlock():
            data = b64encode(block.content).decode("ascii")
            url = f"data:{block.media_type};base64,{data}"
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        case DocumentBlock():
            raise InputUnsupported("this model's provider reads no PDF by address", kind="documents")
        case TextBlock():
            return {"type": "input_text" if role == "user" else "output_text", "text": block.text}
        case _:
            raise ValueError(f"{type(block).__name__} is no part of a message")

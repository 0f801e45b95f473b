"""A round in the form of the Messages API."""

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from equerry.adapters.rounds.encoding import is_worth_caching, list_messages
from equerry.adapters.rounds.roots import flatten_root
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

PROVIDER = "anthropic"

Json = dict[str, Any]


def encode_request(request: ModelRequest, *, model: str) -> Json:
    """Return the body's fields.

    Tools, then the stable instructions, then the dynamic ones: the cache order, with the cache's mark at the
    end of what is stable. Sampling parameters are never sent: the API refuses them.
    """
    body: Json = {
        "model": model,
        "max_tokens": request.max_output_tokens,
        "messages": [
            _encode_message(message) for message in list_messages(request.thread, provider=PROVIDER)
        ],
    }
    if system := _encode_prompt(request):
        body["system"] = system
    if request.tools:
        body["tools"] = [_encode_tool(tool) for tool in request.tools]
        body["tool_choice"] = _encode_choice(request)
    return body | _encode_reasoning(request)


def _encode_choice(request: ModelRequest) -> Json:
    if request.forced_tool is not None:
        return {"type": "tool", "name": request.forced_tool, "disable_parallel_tool_use": True}
    return {"type": "auto" if request.tools_allowed else "none"}


def _encode_reasoning(request: ModelRequest) -> Json:
    """Effort alone where a tool is forced: the API refuses thinking then."""
    if request.reasoning is None:
        return {}
    effort: Json = {"output_config": {"effort": request.reasoning}}
    if request.forced_tool is not None:
        return effort
    return {**effort, "thinking": {"type": "adaptive", "display": "summarized"}}


def _encode_prompt(request: ModelRequest) -> list[Json]:
    prompt = request.prompt
    blocks = [_text(prompt.stable)] if prompt.stable.strip() else []
    if is_worth_caching(request):
        blocks[0]["cache_control"] = {"type": "ephemeral"}
    return blocks + ([_text(prompt.dynamic)] if prompt.dynamic.strip() else [])


def _encode_tool(tool: ToolSpec) -> Json:
    description, schema = flatten_root(tool)
    return {"name": tool.name, "description": description, "input_schema": schema}


def _encode_message(message: Message) -> Json:
    return {"role": message.role, "content": [_encode_block(block) for block in message.blocks]}


def _encode_block(block: Block) -> Json:
    match block:
        case TextBlock():
            return _text(block.text)
        case ImageBlock():
            return _encode_image(block)
        case DocumentBlock():
            return _encode_document(block)
        case ToolCallBlock():
            arguments = _plain(block.arguments)
            return {"type": "tool_use", "id": block.call_id, "name": block.tool, "input": arguments}
        case ToolResultBlock():
            return _encode_result(block)
        case OpaqueBlock():
            own: Json = json.loads(block.payload)
            return own


def _encode_image(block: ImageBlock) -> Json:
    data = b64encode(block.content).decode("ascii")
    return {"type": "image", "source": {"type": "base64", "media_type": block.media_type, "data": data}}


def _encode_document(block: DocumentBlock) -> Json:
    encoded: Json = {"type": "document", "source": {"type": "url", "url": block.url}}
    return {**encoded, "title": block.title} if block.title else encoded


def _encode_result(block: ToolResultBlock) -> Json:
    encoded = {"type": "tool_result", "tool_use_id": block.call_id, "content": block.content}
    return encoded if block.ok else {**encoded, "is_error": True}


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _plain(mapping: Mapping[str, object]) -> Json:
    return dict(mapping)


def continue_request(body: Json, content: list[Json]) -> Json:
    """Return the request that takes up a paused turn: the same, with what the model said so far."""
    said = [block for block in content if block["type"] != "text" or block["text"].strip()]
    *before, last = body["messages"]
    if last["role"] == "assistant":
        # It paused before: what it says in one turn is one message.
        return {**body, "messages": [*before, {**last, "content": [*last["content"], *said]}]}
    return {**body, "messages": [*body["messages"], {"role": "assistant", "content": said}]}

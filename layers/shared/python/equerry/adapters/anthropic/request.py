"""A round in the form of the Messages API."""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from equerry.engine.messages import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    SaidBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from equerry.engine.model import ModelRequest, Prompt, ToolSpec

PROVIDER = "anthropic"
CACHE_FLOOR_CHARACTERS = 2048
"""About 512 tokens, the smallest prefix that any of the models caches; a mark below it does nothing."""

Json = dict[str, Any]


def encode_request(request: ModelRequest, *, model: str) -> Json:
    """Return the body's fields.

    Tools, then the stable instructions, then the dynamic ones: the cache order, with the cache's mark at the
    end of what is stable. Sampling parameters are never sent: the API refuses them.
    """
    body: Json = {
        "model": model,
        "max_tokens": request.max_output_tokens,
        "messages": [_encode_message(message) for message in request.thread.messages],
    }
    tools = [_encode_tool(tool) for tool in request.tools]
    if system := _encode_prompt(request.prompt, tools):
        body["system"] = system
    if tools:
        body["tools"] = tools
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


def _encode_prompt(prompt: Prompt, tools: list[Json]) -> list[Json]:
    blocks = [_text(prompt.stable)] if prompt.stable.strip() else []
    if blocks and len(prompt.stable) + len(json.dumps(tools)) >= CACHE_FLOOR_CHARACTERS:
        blocks[0]["cache_control"] = {"type": "ephemeral"}
    return blocks + ([_text(prompt.dynamic)] if prompt.dynamic.strip() else [])


def _encode_tool(tool: ToolSpec) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": _plain(tool.input_schema)}


def _encode_message(message: Message) -> Json:
    # Results must come first: a call is answered before anything else is said.
    ordered = sorted(message.blocks, key=lambda block: not isinstance(block, ToolResultBlock))
    content = list(_encode_blocks(ordered))
    # Another provider's state may be all there was, and an empty message is refused.
    return {"role": message.role, "content": content or [_text("(no words)")]}


def _encode_blocks(blocks: Iterable[Block]) -> Iterable[Json]:
    for block in blocks:
        if not isinstance(block, OpaqueBlock):
            yield _encode_block(block)
        elif block.provider == PROVIDER:
            yield json.loads(block.payload)


def _encode_block(block: SaidBlock) -> Json:
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

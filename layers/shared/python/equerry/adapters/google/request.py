"""A round in the form of generateContent."""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from equerry.adapters.google.schemas import compile_schema
from equerry.adapters.rounds.encoding import list_messages
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

PROVIDER = "google"
OWN_ID = "unnamed-"
"""Begins the ids of calls that came without one; they mean nothing there and are not sent back."""
UNSIGNED = "skip_thought_signature_validator"
"""What the provider takes in place of a signature for a call that another provider's model made."""

Json = dict[str, Any]

_OLDER_THAN_LEVELS = re.compile(r"gemini-(1|2)\b")
_BUDGETS = {"low": 1024, "medium": 8192, "high": 24576}


def encode_request(request: ModelRequest, *, model: str) -> Json:
    """Return the body.

    What is stable goes first: the provider caches prefixes by itself and has no marks. A forced tool is asked
    for as an answer in JSON, which is held to the schema as it is written.
    """
    names = {
        block.call_id: block.tool
        for message in request.thread.messages
        for block in message.blocks
        if isinstance(block, ToolCallBlock)
    }
    contents = [
        _encode_message(message, names) for message in list_messages(request.thread, provider=PROVIDER)
    ]
    settings: Json = {"maxOutputTokens": request.max_output_tokens}
    body: Json = {"contents": contents, "generationConfig": settings}
    if said := [part for part in (request.prompt.stable, request.prompt.dynamic) if part.strip()]:
        body["systemInstruction"] = {"parts": [{"text": part} for part in said]}
    if (forced := find_forced(request)) is not None:
        description, schema = compile_schema(forced)
        settings |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
        parts = body.setdefault("systemInstruction", {"parts": []})["parts"]
        parts.append({"text": f"Answer with JSON alone. {description}"})
    elif request.tools:
        body["tools"] = [{"functionDeclarations": [_encode_tool(tool) for tool in request.tools]}]
        mode = "AUTO" if request.tools_allowed else "NONE"
        body["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
    if request.reasoning is not None:
        settings["thinkingConfig"] = {"includeThoughts": True, **_encode_effort(request.reasoning, model)}
    return body


def find_forced(request: ModelRequest) -> ToolSpec | None:
    """Return the tool that must be called, if one must."""
    return next((tool for tool in request.tools if tool.name == request.forced_tool), None)


def _encode_effort(level: str, model: str) -> Json:
    """Models before the third generation know a number of tokens and refuse a level."""
    if _OLDER_THAN_LEVELS.search(model):
        return {"thinkingBudget": _BUDGETS[level]}
    return {"thinkingLevel": level.upper()}


def _encode_tool(tool: ToolSpec) -> Json:
    description, schema = compile_schema(tool)
    return {"name": tool.name, "description": description, "parametersJsonSchema": schema}


def _encode_message(message: Message, names: dict[Any, str]) -> Json:
    parts: list[Json] = []
    for block in message.blocks:
        if isinstance(block, OpaqueBlock):
            _sign(parts, json.loads(block.payload))
        else:
            parts.append(_encode_block(block, names))
    _vouch(parts, message.blocks)
    return {"role": "model" if message.role == "assistant" else "user", "parts": parts}


def _sign(parts: list[Json], state: Json) -> None:
    """Give a signature back to the part it came on: the last one, or the end of its words."""
    signed = {"thoughtSignature": state["thoughtSignature"]}
    last = parts[-1] if parts else {}
    if "text" not in state:
        if "functionCall" in last:
            parts[-1] = {**last, **signed}
        return
    words = last.get("text", "")
    if not words or not words.endswith(state["text"]):
        return
    rest = words.removesuffix(state["text"])
    parts[-1:] = [*([{"text": rest}] if rest.strip() else []), {"text": state["text"], **signed}]


def _vouch(parts: list[Json], blocks: Sequence[Block]) -> None:
    """Say of calls that another provider's model made that they have no signature."""
    if any(isinstance(block, OpaqueBlock) for block in blocks):
        return
    called = next((part for part in parts if "functionCall" in part), None)
    if called is not None and "id" in called["functionCall"]:
        called["thoughtSignature"] = UNSIGNED


def _encode_block(block: Block, names: dict[Any, str]) -> Json:
    match block:
        case TextBlock():
            return {"text": block.text}
        case ImageBlock():
            data = b64encode(block.content).decode("ascii")
            return {"inlineData": {"mimeType": block.media_type, "data": data}}
        case ToolCallBlock():
            call = {"name": block.tool, "args": dict(block.arguments), **_name_call(block.call_id)}
            return {"functionCall": call}
        case ToolResultBlock():
            # Results are told apart by their function's name, which only the call has.
            said = {"output" if block.ok else "error": block.content}
            response = {"name": names[block.call_id], "response": said, **_name_call(block.call_id)}
            return {"functionResponse": response}
        case DocumentBlock():
            raise InputUnsupported("this model's provider reads no PDF by address", kind="documents")
        case _:
            raise TypeError(f"no part stands for {type(block).__name__}")


def _name_call(call_id: str) -> Json:
    return {} if call_id.startswith(OWN_ID) else {"id": call_id}

"""A round in the form of the Converse API."""

import json
import re
from base64 import b64decode
from dataclasses import dataclass
from typing import Any

from equerry.adapters.bedrock.schemas import OTHERS
from equerry.adapters.rounds.encoding import is_worth_caching, list_messages
from equerry.adapters.rounds.roots import flatten_root
from equerry.adapters.rounds.subsets import compile_tool
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
from equerry.kernel.kinds import value
from equerry.ports.model import InputUnsupported

PROVIDER = "bedrock"
NO_MORE_TOOLS = "You may call no tool now. Answer with what you have."

Json = dict[str, Any]

_CLAUDE = re.compile(r"anthropic\.claude")
_CACHING = re.compile(r"anthropic\.claude|amazon\.nova")
_OLDER_THAN_CACHING = re.compile(r"claude-(v2|instant|3-(haiku|sonnet|opus)|3-5-sonnet-20240620)")


@value
@dataclass(frozen=True, slots=True)
class Guardrail:
    """A guardrail of the account's, by its id or ARN."""

    identifier: str
    version: str = "DRAFT"


def encode_request(request: ModelRequest, *, model: str, guardrail: Guardrail | None = None) -> Json:
    """Return the operation's parameters.

    Tools, then the stable instructions, then the dynamic ones: the cache order, with the cache's mark as a
    block of its own after what is stable, where the model knows marks.
    """
    body: Json = {
        "modelId": model,
        "messages": [
            _encode_message(message) for message in list_messages(request.thread, provider=PROVIDER)
        ],
        "inferenceConfig": {"maxTokens": request.max_output_tokens},
    }
    if system := _encode_prompt(request, marks=takes_marks(model)):
        body["system"] = system
    if _needs_tools(request):
        body["toolConfig"] = _encode_tools(request, model)
    if guardrail is not None:
        body["guardrailConfig"] = {
            "guardrailIdentifier": guardrail.identifier,
            "guardrailVersion": guardrail.version,
        }
    return body | _encode_reasoning(request, model)


def takes_marks(model: str) -> bool:
    """Whether a model's requests may hold a cache's mark; others are refused for it."""
    return bool(_CACHING.search(model)) and not _OLDER_THAN_CACHING.search(model)


def _encode_prompt(request: ModelRequest, *, marks: bool) -> list[Json]:
    prompt = request.prompt
    blocks: list[Json] = [{"text": prompt.stable}] if prompt.stable.strip() else []
    if marks and is_worth_caching(request):
        blocks.append({"cachePoint": {"type": "default"}})
    if prompt.dynamic.strip():
        blocks.append({"text": prompt.dynamic})
    if _needs_tools(request) and not request.tools_allowed:
        blocks.append({"text": NO_MORE_TOOLS})
    return blocks


def _needs_tools(request: ModelRequest) -> bool:
    """There is no way to forbid tools that are listed, and a thread that holds calls needs them listed."""
    blocks = (block for message in request.thread.messages for block in message.blocks)
    called = any(isinstance(block, ToolCallBlock | ToolResultBlock) for block in blocks)
    return bool(request.tools) and (request.tools_allowed or called)


def _encode_tools(request: ModelRequest, model: str) -> Json:
    choice: Json = {"auto": {}}
    if request.forced_tool is not None:
        choice = {"tool": {"name": request.forced_tool}}
    return {"tools": [_encode_tool(tool, model) for tool in request.tools], "toolChoice": choice}


def _encode_tool(tool: ToolSpec, model: str) -> Json:
    """Models of Anthropic's read nearly all of JSON Schema, the others little of it."""
    known = _CLAUDE.search(model)
    description, schema = flatten_root(tool) if known else compile_tool(tool, OTHERS)
    return {"toolSpec": {"name": tool.name, "description": description, "inputSchema": {"json": schema}}}


def _encode_reasoning(request: ModelRequest, model: str) -> Json:
    """Effort alone where a tool is forced: models refuse thinking then."""
    if request.reasoning is None:
        return {}
    effort: Json = {"outputConfig": {"effort": request.reasoning}}
    if request.forced_tool is not None or not _CLAUDE.search(model):
        return effort
    return {**effort, "additionalModelRequestFields": {"thinking": {"type": "adaptive"}}}


def _encode_message(message: Message) -> Json:
    return {"role": message.role, "content": [_encode_block(block) for block in message.blocks]}


def _encode_block(block: Block) -> Json:
    match block:
        case TextBlock():
            return {"text": block.text}
        case ImageBlock():
            picture = {"format": block.media_type.removeprefix("image/"), "source": {"bytes": block.content}}
            return {"image": picture}
        case DocumentBlock():
            raise InputUnsupported("this model's provider reads no PDF by address", kind="documents")
        case ToolCallBlock():
            call = {"toolUseId": block.call_id, "name": block.tool, "input": dict(block.arguments)}
            return {"toolUse": call}
        case ToolResultBlock():
            return {"toolResult": _encode_result(block)}
        case OpaqueBlock():
            return {"reasoningContent": _restore(json.loads(block.payload))}


def _encode_result(block: ToolResultBlock) -> Json:
    encoded: Json = {"toolUseId": block.call_id, "content": [{"text": block.content}]}
    return encoded if block.ok else {**encoded, "status": "error"}


def _restore(state: Json) -> Json:
    if "redactedContent" in state:
        return {"redactedContent": b64decode(state["redactedContent"])}
    return state

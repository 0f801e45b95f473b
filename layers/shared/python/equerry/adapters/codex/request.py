"""A round as one prompt, and the shape of its answer.

The command line calls no tool of ours, so the model is asked to write down which it would call, in JSON of a
fixed shape, and the calls are made here.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from equerry.adapters.rounds.encoding import list_messages
from equerry.engine.messages import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from equerry.engine.model import ModelRequest, ToolSpec
from equerry.ports.model import InputUnsupported

PROVIDER = "codex"

Json = dict[str, Any]

_RULES = """
Answer as an assistant in a conversation. Run no command, read no file, change nothing: all you need is here.
"""
_TOOLS = """
These tools are run for you, and their results come in the next request. To use some, name them in `calls`,
each with its arguments as a JSON object written into a string. To answer, write into `text` and leave `calls`
empty.
"""
_NO_TOOLS = "You may call no tool now: leave `calls` empty and answer with what you have."


def encode_request(request: ModelRequest) -> Json:
    """Return the prompt, and the schema of the answer where tools are offered.

    Raises:
        InputUnsupported: a picture or a document.
    """
    parts = [request.prompt.stable, _RULES, request.prompt.dynamic, *_describe_tools(request)]
    said = (_write_message(message) for message in list_messages(request.thread, provider=PROVIDER))
    prompt = "\n\n".join(part.strip() for part in (*parts, *said) if part.strip())
    return {"prompt": prompt, "schema": _derive_schema(request.tools) if request.tools else None}


def _describe_tools(request: ModelRequest) -> Iterator[str]:
    if not request.tools:
        return
    yield _TOOLS
    for tool in request.tools:
        yield f"Tool `{tool.name}`: {tool.description}\nArguments: {json.dumps(dict(tool.input_schema))}"
    if request.forced_tool is not None:
        yield f"Call `{request.forced_tool}`, once."
    elif not request.tools_allowed:
        yield _NO_TOOLS


def _derive_schema(tools: Sequence[ToolSpec]) -> Json:
    """Strict: every object closed, everything required. Arguments of any schema fit a string alone."""
    call = {
        "tool": {"type": "string", "enum": [tool.name for tool in tools]},
        "arguments": {"type": "string"},
    }
    calls = {"type": "array", "items": _close(call)}
    return _close({"text": {"type": "string"}, "calls": calls})


def _close(properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _write_message(message: Message) -> str:
    name = "Assistant" if message.role == "assistant" else "User"
    return "\n".join((f"## {name}", *(_write_block(block) for block in message.blocks)))


def _write_block(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolCallBlock():
            return f"(called `{block.tool}` as {block.call_id} with {json.dumps(dict(block.arguments))})"
        case ToolResultBlock():
            outcome = "answered" if block.ok else "failed"
            return f"({block.call_id} {outcome}:)\n{block.content}"
        case ImageBlock():
            raise InputUnsupported("this model's provider reads no pictures", kind="image_input")
        case DocumentBlock():
            raise InputUnsupported("this model's provider reads no documents", kind="documents")
        case _:
            return ""

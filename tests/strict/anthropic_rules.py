"""What the Messages API refuses, and with which words; stricter than the real one where it is lenient."""

import re
from collections.abc import Mapping

from tests.strict.replies import Illegal, Json, require

VERSION = re.compile(r"20\d\d-\d\d-\d\d")
FIELDS = frozenset(
    {
        "cache_control",
        "max_tokens",
        "messages",
        "metadata",
        "model",
        "output_config",
        "service_tier",
        "stop_sequences",
        "stream",
        "system",
        "thinking",
        "tool_choice",
        "tools",
    }
)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_MOST_CACHE_MARKS = 4
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def check_headers(headers: Mapping[str, str]) -> None:
    require(VERSION.fullmatch(headers.get("anthropic-version", "")), "anthropic-version: header is required")
    require(headers.get("content-type") == "application/json", "content-type: must be application/json")


def check_body(body: object, *, signatures: frozenset[str] = frozenset(), paused: bool = False) -> None:
    """Raise Illegal for the first rule that is broken.

    `signatures` are those of the thinking blocks that were sent; `paused` allows the assistant to be last.
    """
    if not isinstance(body, dict):
        raise Illegal("the body must be a JSON object")
    for name in body:
        require(name in FIELDS, f"{name}: Extra inputs are not permitted")
    require(isinstance(body.get("model"), str) and body["model"].strip(), "model: Field required")
    limit = body.get("max_tokens")
    require(isinstance(limit, int) and limit >= 1, "max_tokens: must be at least 1")
    _check_system(body.get("system"))
    _check_tools(body)
    _check_thinking(body)
    _check_messages(body, signatures=signatures, paused=paused)
    marks = _count_marks(body)
    require(marks <= _MOST_CACHE_MARKS, f"at most 4 blocks may have cache_control, got {marks}")


def _check_system(system: object) -> None:
    if system is None:
        return
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    require(isinstance(blocks, list) and blocks, "system: must not be empty")
    assert isinstance(blocks, list)
    for block in blocks:
        require(block.get("type") == "text", "system: only text blocks")
        require(block["text"].strip(), "system: text content blocks must be non-empty")


def _check_tools(body: Json) -> None:
    tools = body.get("tools", [])
    require("tools" not in body or tools, "tools: must not be empty")
    names = [tool.get("name", "") for tool in tools]
    require(len(names) == len(set(names)), "tools: Tool names must be unique")
    for tool in tools:
        require(_NAME.fullmatch(tool.get("name", "")), "tools.name: must match ^[a-zA-Z0-9_-]{1,128}$")
        schema = tool.get("input_schema", {})
        require(schema.get("type") == "object", "tools.input_schema: must be an object")
        alternatives = {"allOf", "anyOf", "oneOf"} & schema.keys()
        require(not alternatives, f"tools.input_schema: does not support {alternatives} at the top level")
    choice = body.get("tool_choice")
    if choice is None:
        return
    require(tools, "tool_choice: may only be specified while providing tools")
    require(choice.get("type") in ("auto", "any", "tool", "none"), "tool_choice.type: unknown")
    if choice["type"] == "tool":
        require(choice.get("name") in names, "tool_choice.name: no such tool")


def _check_thinking(body: Json) -> None:
    kind = body.get("thinking", {}).get("type")
    require(kind in (None, "adaptive", "disabled"), f"thinking.type.{kind} is not supported for this model")
    forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
    require(not (kind == "adaptive" and forced), "Thinking may not be enabled when a tool is forced")


def _check_messages(body: Json, *, signatures: frozenset[str], paused: bool) -> None:
    messages = body.get("messages")
    require(isinstance(messages, list) and messages, "messages: at least one message is required")
    assert isinstance(messages, list)
    open_calls: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        role = "user" if index % 2 == 0 else "assistant"
        require(message.get("role") == role, f"messages.{index}: roles must alternate, expected {role}")
        blocks = _read_blocks(message, index)
        given = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        require(given == open_calls, f"messages.{index}: tool_result {given} does not answer {open_calls}")
        kinds = [block["type"] for block in blocks]
        first = kinds[: len(given)]
        require(set(first) <= {"tool_result"}, f"messages.{index}: tool_result blocks must come first")
        for block in blocks:
            _check_block(block, role, index, signatures)
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        require(not seen & set(open_calls), f"messages.{index}: `tool_use` ids must be unique")
        seen |= set(open_calls)
    uses_tools = bool(seen)
    require(not uses_tools or body.get("tools"), "tools: required when messages hold tool blocks")
    last = messages[-1]["role"]
    require(last == "user" or paused, "the conversation must end with a user message")
    require(not open_calls, f"`tool_use` ids were found without `tool_result` blocks: {open_calls}")


def _read_blocks(message: Json, index: int) -> list[Json]:
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    require(isinstance(blocks, list) and blocks, f"messages.{index}: must have non-empty content")
    assert isinstance(blocks, list)
    return blocks


def _check_block(block: Json, role: str, index: int, signatures: frozenset[str]) -> None:
    where = f"messages.{index}"
    match block["type"]:
        case "text":
            require(block["text"].strip(), f"{where}: text content blocks must contain non-whitespace text")
        case "image":
            require(role == "user", f"{where}: images are only the user's")
            require(block["source"]["media_type"] in _PICTURES, f"{where}: image media type")
            require(block["source"]["data"], f"{where}: image data must not be empty")
        case "document":
            require(role == "user", f"{where}: documents are only the user's")
            require(block["source"]["url"].startswith("https://"), f"{where}: document url must be https")
        case "tool_use":
            require(role == "assistant", f"{where}: `tool_use` blocks are only the assistant's")
            require(_NAME.fullmatch(block["name"]), f"{where}: tool_use.name is malformed")
            require(isinstance(block["input"], dict), f"{where}: tool_use.input must be an object")
        case "tool_result":
            require(role == "user", f"{where}: `tool_result` blocks are only the user's")
            require(str(block["content"]).strip(), f"{where}: tool_result content must not be blank")
        case "thinking":
            require(role == "assistant", f"{where}: `thinking` blocks are only the assistant's")
            require(block.get("signature") in signatures, f"{where}: Invalid `signature` in thinking")
        case "server_tool_use" | "redacted_thinking":
            require(role == "assistant", f"{where}: `{block['type']}` blocks are only the assistant's")
        case unknown:
            raise Illegal(f"{where}: Input tag '{unknown}' is not expected")


def _count_marks(entry: object) -> int:
    if isinstance(entry, list):
        return sum(map(_count_marks, entry))
    if not isinstance(entry, dict):
        return 0
    return ("cache_control" in entry) + sum(map(_count_marks, entry.values()))

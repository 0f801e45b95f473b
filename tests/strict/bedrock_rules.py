"""What the Converse API refuses, and with which words; stricter than the real one where it is lenient."""

import re
from base64 import b64decode
from typing import Any

from tests.strict.replies import Illegal, Json, require

FIELDS = frozenset(
    {
        "additionalModelRequestFields",
        "guardrailConfig",
        "inferenceConfig",
        "messages",
        "outputConfig",
        "requestMetadata",
        "system",
        "toolConfig",
    }
)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CALL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_MARKED = re.compile(r"anthropic\.claude|amazon\.nova")
_PICTURES = frozenset({"png", "jpeg", "gif", "webp"})
_MOST_MARKS = 4
_SEEN_AS = {"png": b"\x89PNG", "jpeg": b"\xff\xd8", "webp": b"RIFF", "gif": b"GIF8"}


def check_body(body: object, *, model: str, signatures: frozenset[str]) -> None:
    """Raise Illegal for the first rule that is broken; `signatures` are of thoughts that were sent."""
    if not isinstance(body, dict):
        raise Illegal("the body must be a JSON object")
    for name in body:
        require(name in FIELDS, f"Unexpected field: {name}")
    limit = body.get("inferenceConfig", {}).get("maxTokens", 1)
    require(isinstance(limit, int) and limit >= 1, "maxTokens must be at least 1")
    for block in body.get("system", []):
        require(len(block) == 1, "system: a block holds exactly one thing")
        require("cachePoint" in block or block.get("text", "").strip(), "system: text must not be blank")
    _check_tools(body, model)
    _check_marks(body, model)
    _check_messages(body, signatures)


def _check_tools(body: Json, model: str) -> None:
    config = body.get("toolConfig")
    if config is None:
        return
    specs = [tool["toolSpec"] for tool in config["tools"] if "toolSpec" in tool]
    require(specs, "toolConfig.tools must not be empty")
    names = [spec["name"] for spec in specs]
    require(len(names) == len(set(names)), "toolConfig.tools: names must be unique")
    for spec in specs:
        require(_NAME.fullmatch(spec["name"]), "toolSpec.name does not match [a-zA-Z0-9_-]+")
        require(spec.get("description", "x").strip(), "toolSpec.description must not be blank")
        _check_root(spec["inputSchema"]["json"], model)
    choice = config.get("toolChoice", {"auto": {}})
    require(set(choice) <= {"auto", "any", "tool"} and len(choice) == 1, "toolChoice: auto, any or tool")
    forced = choice.get("tool", {}).get("name")
    require(forced is None or forced in names, "toolChoice.tool.name: no such tool")
    thinks = body.get("additionalModelRequestFields", {}).get("thinking", {}).get("type")
    require(
        not (thinks and "auto" not in choice), "Thinking may not be enabled when tool_choice forces tool use."
    )


def _check_root(schema: Json, model: str) -> None:
    require(schema.get("type") == "object", "inputSchema.json must be of type object")
    if "anthropic.claude" in model:
        alternatives = {"allOf", "anyOf", "oneOf"} & schema.keys()
        require(not alternatives, f"inputSchema.json: {alternatives} at the top level")
    else:
        others = schema.keys() - {"type", "properties", "required"}
        require(not others, f"inputSchema.json: {others} at the top level")


def _check_marks(body: Json, model: str) -> None:
    marks = _count_marks(body)
    require(marks <= _MOST_MARKS, f"at most {_MOST_MARKS} cache points, got {marks}")
    require(not marks or _MARKED.search(model), "You invoked an unsupported model for prompt caching.")
    system = body.get("system", [])
    require(not system or "cachePoint" not in system[0], "a cache point must follow what it caches")


def _count_marks(entry: object) -> int:
    if isinstance(entry, list):
        return sum(map(_count_marks, entry))
    if not isinstance(entry, dict):
        return 0
    return ("cachePoint" in entry) + sum(map(_count_marks, entry.values()))


def _check_messages(body: Json, signatures: frozenset[str]) -> None:
    messages = body.get("messages")
    require(isinstance(messages, list) and messages, "A conversation must start with a user message.")
    assert isinstance(messages, list)
    open_calls: list[str] = []
    called = False
    for index, message in enumerate(messages):
        role = "user" if index % 2 == 0 else "assistant"
        require(message.get("role") == role, f"messages.{index}: roles must alternate, expected {role}")
        content = message.get("content")
        require(content, f"messages.{index}: the content field is empty")
        given = [block["toolResult"]["toolUseId"] for block in content if "toolResult" in block]
        require(given == open_calls, f"messages.{index}: toolResult {given} does not answer {open_calls}")
        first = content[: len(given)]
        require(
            all("toolResult" in block for block in first), f"messages.{index}: toolResult must come first"
        )
        for block in content:
            require(len(block) == 1, f"messages.{index}: a block holds exactly one thing")
            _check_block(block, role, f"messages.{index}", signatures)
        open_calls = [block["toolUse"]["toolUseId"] for block in content if "toolUse" in block]
        called = called or bool(open_calls)
    require(not called or "toolConfig" in body, "The toolConfig field must be defined with toolUse blocks.")
    require(messages[-1]["role"] == "user", "The conversation must end with a user message.")
    require(not open_calls, f"Expected toolResult blocks for {open_calls}")


def _check_block(block: Json, role: str, where: str, signatures: frozenset[str]) -> None:
    (kind,) = block
    data = block[kind]
    match kind:
        case "text":
            require(data.strip(), f"{where}: text content blocks must contain non-whitespace text")
        case "image":
            require(role == "user", f"{where}: images are only the user's")
            _check_picture(data, where)
        case "toolUse":
            require(role == "assistant", f"{where}: toolUse is only the assistant's")
            require(_CALL_ID.fullmatch(data["toolUseId"]), f"{where}: toolUseId does not match")
            require(isinstance(data["input"], dict), f"{where}: toolUse.input must be an object")
        case "toolResult":
            require(role == "user", f"{where}: toolResult is only the user's")
            said = "".join(part.get("text", "x") for part in data["content"])
            require(said.strip(), f"{where}: toolResult text must not be blank")
            require(data.get("status", "success") in ("success", "error"), f"{where}: toolResult.status")
        case "reasoningContent":
            require(role == "assistant", f"{where}: reasoning is only the assistant's")
            _check_reasoning(data, where, signatures)
        case "cachePoint":
            require(data == {"type": "default"}, f"{where}: cachePoint")
        case unknown:
            raise Illegal(f"{where}: {unknown} is not supported here")


def _check_picture(data: Any, where: str) -> None:
    require(data["format"] in _PICTURES, f"{where}: image format")
    content = b64decode(data["source"]["bytes"], validate=True)
    require(content.startswith(_SEEN_AS[data["format"]]), f"{where}: the image is no {data['format']}")


def _check_reasoning(data: Json, where: str, signatures: frozenset[str]) -> None:
    known = data.get("redactedContent") or data.get("reasoningText", {}).get("signature")
    require(known in signatures, f"{where}: Invalid `signature` in thinking block")

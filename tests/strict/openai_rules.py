"""What the Responses API refuses, and with which words; stricter than the real one where it is lenient."""

import json
import re

from tests.strict.openai_schemas import check_strict_schema
from tests.strict.replies import Illegal, Json, require

FIELDS = frozenset(
    {
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "metadata",
        "model",
        "parallel_tool_calls",
        "prompt_cache_key",
        "reasoning",
        "store",
        "stream",
        "text",
        "tool_choice",
        "tools",
        "truncation",
    }
)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PICTURE = re.compile(r"data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+=*")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_SIDES = {"user": "input_text", "developer": "input_text", "system": "input_text", "assistant": "output_text"}


def check_body(body: object, *, reasoning_models: bool, encrypted: frozenset[str]) -> None:
    """Raise Illegal for the first rule that is broken.

    `encrypted` is the reasoning that was sent; `reasoning_models` whether this model reasons.
    """
    if not isinstance(body, dict):
        raise Illegal("the body must be a JSON object")
    for name in body:
        require(name in FIELDS, f"Unknown parameter: '{name}'.")
    require(
        isinstance(body.get("model"), str) and body["model"].strip(), "you must provide a model parameter"
    )
    least = body.get("max_output_tokens", 16)
    require(
        isinstance(least, int) and least >= 16, "Invalid 'max_output_tokens': integer below minimum value 16"
    )
    instructions = body.get("instructions")
    require(instructions is None or instructions.strip(), "instructions must not be blank")
    key = body.get("prompt_cache_key", "")
    require(len(key) <= 64, "Invalid 'prompt_cache_key': string too long")
    _check_reasoning(body, reasoning_models)
    _check_tools(body)
    _check_input(body, encrypted)


def _check_reasoning(body: Json, reasoning_models: bool) -> None:
    if reasoning := body.get("reasoning"):
        require(
            reasoning_models, "Unsupported parameter: 'reasoning.effort' is not supported with this model."
        )
        require(reasoning.get("effort") in _EFFORTS, "Invalid value: 'reasoning.effort'")


def _check_tools(body: Json) -> None:
    tools = body.get("tools", [])
    names = [tool.get("name", "") for tool in tools]
    require(len(names) == len(set(names)), "Duplicate tool names")
    for tool in tools:
        require(tool.get("type") == "function", "tools[0].type: only functions here")
        require(
            _NAME.fullmatch(tool.get("name", "")), "Invalid 'tools[0].name': string does not match pattern"
        )
        schema = tool.get("parameters")
        require(isinstance(schema, dict) and schema.get("type") == "object", "schema must have type 'object'")
        if tool.get("strict", True):
            check_strict_schema(schema, tool["name"])
    choice = body.get("tool_choice")
    require(choice is None or tools, "Tool choice is only allowed when tools are specified.")
    if isinstance(choice, dict):
        require(choice.get("name") in names, f"Tool choice '{choice.get('name')}' not found in 'tools'.")
    else:
        require(choice in (None, "auto", "none", "required"), "Invalid value: 'tool_choice'")


def _check_input(body: Json, encrypted: frozenset[str]) -> None:
    items = body.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    require(isinstance(items, list) and items, "Missing required parameter: 'input'.")
    assert isinstance(items, list)
    calls: dict[str, bool] = {}
    for place, item in enumerate(items):
        following = items[place + 1] if place + 1 < len(items) else {}
        _check_item(item, f"input[{place}]", following, calls, encrypted)
    for call_id, answered in calls.items():
        require(answered, f"No tool output found for function call {call_id}.")


def _check_item(
    item: Json, where: str, following: Json, calls: dict[str, bool], known: frozenset[str]
) -> None:
    match item.get("type", "message"):
        case "message":
            _check_message(item, where)
        case "function_call":
            require(_NAME.fullmatch(item["name"]), f"Invalid '{where}.name'")
            require(isinstance(json.loads(item["arguments"]), dict), f"Invalid '{where}.arguments'")
            require(item["call_id"] not in calls, f"Duplicate call_id {item['call_id']}")
            calls[item["call_id"]] = False
        case "function_call_output":
            require(
                item["call_id"] in calls, f"No tool call found for function call output {item['call_id']}."
            )
            require(item["output"].strip(), f"{where}.output must not be blank")
            calls[item["call_id"]] = True
        case "reasoning":
            require(
                item.get("encrypted_content") in known, f"{where}: the encrypted content cannot be verified"
            )
            needed = following.get("type") in ("function_call", "message", "reasoning")
            require(
                needed, f"Item '{item['id']}' of type 'reasoning' was provided without its following item."
            )
        case unknown:
            raise Illegal(f"Invalid value: '{unknown}' at {where}.type")


def _check_message(item: Json, where: str) -> None:
    role = item.get("role", "")
    require(role in _SIDES, f"Invalid value: '{role}' at {where}.role")
    content = item.get("content")
    parts = [{"type": _SIDES[role], "text": content}] if isinstance(content, str) else content
    require(isinstance(parts, list) and parts, f"{where}.content must not be empty")
    assert isinstance(parts, list)
    for part in parts:
        if part["type"] == "input_image":
            require(role == "user", f"{where}: images are only the user's")
            require(_PICTURE.fullmatch(part["image_url"]), f"Invalid '{where}.image_url'")
            continue
        require(part["type"] == _SIDES[role], f"Invalid value: '{part['type']}' in {where} of the {role}")
        require(part["text"].strip(), f"{where}: text must not be blank")

"""What generateContent refuses, and with which words; stricter than the real one where it is lenient."""

import json
import re
from base64 import b64decode
from dataclasses import dataclass, field
from typing import Any

from tests.strict.google_schemas import check_schema
from tests.strict.replies import Illegal, Json, require

FIELDS = frozenset({"contents", "generationConfig", "systemInstruction", "toolConfig", "tools"})
SETTINGS = frozenset(
    {"maxOutputTokens", "responseJsonSchema", "responseMimeType", "temperature", "thinkingConfig"}
)
UNSIGNED = "skip_thought_signature_validator"
_DATA = frozenset({"fileData", "functionCall", "functionResponse", "inlineData", "text"})
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_SEEN_AS = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8", "image/webp": b"RIFF"}


@dataclass(slots=True)
class Sent:
    """What this server has sent: signatures by the part that they came on, and calls without one."""

    signed: dict[str, str] = field(default_factory=dict)
    bare: set[str] = field(default_factory=set)

    def note(self, part: Json) -> None:
        told = name_part(part)
        if signature := part.get("thoughtSignature"):
            self.signed[told] = signature
        elif "functionCall" in part:
            self.bare.add(told)


def name_part(part: Json) -> str:
    """What a part says, by which it is known again."""
    if call := part.get("functionCall"):
        return json.dumps([call["name"], call.get("args", {})], sort_keys=True)
    return str(part.get("text"))


def check_body(body: object, *, model: str, sent: Sent) -> None:
    """Raise Illegal for the first rule that is broken."""
    if not isinstance(body, dict):
        raise Illegal("the body must be a JSON object")
    for name in body:
        require(name in FIELDS, f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
    if "systemInstruction" in body:
        parts = body["systemInstruction"]["parts"]
        require(parts and all(part["text"].strip() for part in parts), "systemInstruction: must not be blank")
    _check_settings(body, model)
    _check_tools(body)
    _check_contents(body, sent)


def _check_settings(body: Json, model: str) -> None:
    settings = body.get("generationConfig", {})
    for name in settings:
        require(name in SETTINGS, f"Unknown name \"{name}\" at 'generation_config'")
    require(settings.get("maxOutputTokens", 1) >= 1, "max_output_tokens must be positive")
    kind = settings.get("responseMimeType", "text/plain")
    if "responseJsonSchema" in settings:
        require(kind == "application/json", "response_json_schema needs response_mime_type application/json")
        check_schema(settings["responseJsonSchema"], "response_json_schema")
    json_with_tools = kind == "application/json" and "tools" in body
    require(not json_with_tools, f"Function calling with a response mime type: '{kind}' is unsupported")
    thinking = settings.get("thinkingConfig", {})
    levels = ("MINIMAL", "LOW", "MEDIUM", "HIGH")
    if "thinkingLevel" in thinking:
        require(thinking["thinkingLevel"] in levels, "Invalid value at 'thinking_level'")
        require("gemini-2" not in model, "Thinking level is not supported for this model.")
        require(
            "thinkingBudget" not in thinking, "You can only set one of thinking budget and thinking level."
        )


def _check_tools(body: Json) -> None:
    declared = [each for tool in body.get("tools", []) for each in tool["functionDeclarations"]]
    require("tools" not in body or declared, "tools: must not be empty")
    names = [each.get("name", "") for each in declared]
    require(len(names) == len(set(names)), "Duplicate function declaration found")
    for each in declared:
        require(_NAME.fullmatch(each.get("name", "")), "Invalid function name.")
        require(each.get("description", "x").strip(), "function_declarations.description must not be blank")
        require("parameters" not in each, "this server takes parametersJsonSchema alone")
        # The SDK writes it so, and the API reads both.
        schema = each.get("parameters_json_schema", each.get("parametersJsonSchema", {"type": "object"}))
        require(schema.get("type") == "object", "parameters_json_schema: must be of type object")
        check_schema(schema, f"function_declarations[{each['name']}]")
    mode = body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode", "AUTO")
    require(mode in ("AUTO", "ANY", "NONE", "VALIDATED"), "Invalid value at 'mode'")
    require(
        "toolConfig" not in body or declared, "Function calling config is set without function_declarations."
    )


def _check_contents(body: Json, sent: Sent) -> None:
    contents = body.get("contents")
    require(isinstance(contents, list) and contents, "contents is not specified")
    assert isinstance(contents, list)
    open_calls: list[Json] = []
    for place, (role, parts) in enumerate(_join(contents)):
        expected = "user" if place % 2 == 0 else "model"
        require(role == expected, f"contents[{place}].role: Please use a valid role: user, model; got {role}")
        require(parts, f"contents[{place}].parts: must not be empty")
        given = [part["functionResponse"] for part in parts if "functionResponse" in part]
        _check_answers(open_calls, given, place)
        for part in parts:
            _check_part(part, role, f"contents[{place}]")
        open_calls = [part["functionCall"] for part in parts if "functionCall" in part]
        _check_signatures(parts, place, sent)
    require(contents[-1]["role"] == "user", "Please ensure that the conversation ends with a user turn")


def _join(contents: list[Json]) -> list[tuple[str, list[Json]]]:
    """One side may speak several times in a row, as the SDK's own history does."""
    joined: list[tuple[str, list[Json]]] = []
    for content in contents:
        if joined and joined[-1][0] == content.get("role"):
            joined[-1][1].extend(content.get("parts", []))
        else:
            joined.append((content.get("role", ""), [*content.get("parts", [])]))
    return joined


def _check_answers(calls: list[Json], given: list[Json], place: int) -> None:
    require(
        len(given) == len(calls),
        "Please ensure that the number of function response parts is equal to the number of function call"
        f" parts of the function call turn (contents[{place}])",
    )
    for called, answered in zip(calls, given, strict=True):
        require(
            answered["name"] == called["name"], f"contents[{place}]: no call of {answered['name']} is open"
        )
        require(
            answered.get("id") == called.get("id"), f"contents[{place}]: the response's id is not its call's"
        )


def _check_part(part: Json, role: str, where: str) -> None:
    held = _DATA & part.keys()
    require(len(held) == 1, f"{where}: part must have required oneof field 'data' initialized")
    for name in part:
        require(name in _DATA | {"thoughtSignature"}, f'{where}: Unknown name "{name}"')
    (kind,) = held
    owner = {"functionCall": "model", "functionResponse": "user", "inlineData": "user"}.get(kind, role)
    require(role == owner, f"{where}: {kind} is only the {owner}'s")
    match kind:
        case "text":
            echo = role == "model" and not part["text"]
            require(part["text"].strip() or echo, f"{where}: text must not be blank")
        case "inlineData":
            data = b64decode(part["inlineData"]["data"], validate=True)
            seen = _SEEN_AS.get(part["inlineData"]["mimeType"])
            require(seen and data.startswith(seen), f"{where}: Unable to process input image")
        case "functionCall":
            require(isinstance(part["functionCall"]["args"], dict), f"{where}: args must be an object")
        case "functionResponse":
            require(
                isinstance(part["functionResponse"]["response"], dict), f"{where}: response must be an object"
            )
        case unknown:
            raise Illegal(f"{where}: {unknown} is not supported here")


def _check_signatures(parts: list[Any], place: int, sent: Sent) -> None:
    first = True
    for part in parts:
        given, told = part.get("thoughtSignature"), name_part(part)
        if "functionCall" in part:
            wanted = sent.signed.get(told)
            needed = wanted is not None or (first and told not in sent.bare)
            require(
                given or not needed, "Function call is missing a thought_signature in functionCall parts."
            )
            known = given in (None, wanted) or (given == UNSIGNED and told not in sent.signed)
            require(known, f"contents[{place}]: Corrupted thought signature.")
            first = False
        elif given is not None:
            require(sent.signed.get(told) == given, f"contents[{place}]: Corrupted thought signature.")

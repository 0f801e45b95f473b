"""Tools with schemas of every kind are legal with every provider, and come back in the caller's terms."""

import json
from typing import Any

import pytest
from equerry.adapters.bedrock.request import encode_request
from equerry.engine.model import ToolCallReady, ToolSpec
from equerry.engine.schemas import parse_schema

from tests.contract.models.requests import ask, collect
from tests.contract.models.subjects import KITS, OPENAI, Kit
from tests.strict import bedrock_rules, openai_events
from tests.strict.openai_server import serve_openai
from tests.unit.adapters.schema_cases import TREE

STRING = {"type": "string"}


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


SCHEMAS: dict[str, dict[str, Any]] = {
    "closed": closed(["a"], a=STRING, b={"type": "integer", "minimum": 1}),
    "open": {"type": "object"},
    "alternatives": {**closed([], a=STRING, b=STRING), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "conjunctions": {"type": "object", "allOf": [{"properties": {"a": STRING}}, {"required": ["a"]}]},
    "a tree": {**closed(["t"], t={"$ref": "#/$defs/tree"}), "$defs": {"tree": TREE}},
    "a tuple": closed(
        [], pair={"type": "array", "prefixItems": [STRING, {"type": "number"}], "items": False}
    ),
    "a map": closed([], words={"type": "object", "additionalProperties": STRING}),
    "names by pattern": {
        "type": "object",
        "patternProperties": {"^x-": STRING},
        "additionalProperties": False,
    },
    "literals": closed([], a={"enum": ["x", None, 1, True]}, b={"const": {"k": 1}}),
    "conditions": {**closed([], a=STRING), "if": {"required": ["a"]}, "then": {"minProperties": 1}},
    "words": closed([], when={**STRING, "format": "date-time", "pattern": "^2", "maxLength": 99}),
}


@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.name)
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("forced", [False, True])
def test_a_tool_with_any_schema_is_legal(kit: Kit, name: str, *, forced: bool) -> None:
    tool = ToolSpec(name="emit", description="Answer.", input_schema=SCHEMAS[name])

    with kit.serve() as server, kit.connect(server) as model:
        server.play(kit.forced if forced else kit.answer)
        collect(model, ask(tools=(tool,), forced_tool="emit" if forced else None))

        assert server.violations == []
    parse_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("model", ["eu.anthropic.claude-x", "amazon.nova-pro-v1:0"])
def test_a_tool_with_any_schema_is_legal_with_every_family_of_models(name: str, model: str) -> None:
    tool = ToolSpec(name="emit", description="Answer.", input_schema=SCHEMAS[name])

    body = encode_request(ask(tools=(tool,)), model=model)

    told = {name: held for name, held in body.items() if name != "modelId"}
    bedrock_rules.check_body(json.loads(json.dumps(told)), model=model, signatures=frozenset())


@pytest.mark.req("A-SCRQ-13")
def test_a_forced_tool_is_strict_and_its_nulls_do_not_come_through() -> None:
    tool = ToolSpec(name="emit", description="Answer.", input_schema=SCHEMAS["closed"])
    call = openai_events.tool('{"a": "x", "b": null}', name="emit")

    with serve_openai() as server, OPENAI.connect(server) as model:
        server.play(openai_events.response(call), openai_events.response(call))
        forced = collect(model, ask(tools=(tool,), forced_tool="emit"))
        free = collect(model, ask(tools=(tool,)))

    assert [body["tools"][0]["strict"] for body in server.requests] == [True, False]
    found = [event.call.arguments for event in (*forced, *free) if isinstance(event, ToolCallReady)]
    assert found == [{"a": "x"}, {"a": "x", "b": None}]

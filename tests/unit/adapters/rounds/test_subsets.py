"""What a provider is told of a schema: in its own subset, never less than the caller allows."""

import copy
import json
from typing import Any

import pytest
from equerry.adapters.google.schemas import SUBSET
from equerry.adapters.rounds.roots import flatten_root
from equerry.adapters.rounds.subsets import Subset, compile_tool
from equerry.engine.model import ToolSpec
from hypothesis import assume, given, settings
from jsonschema import Draft202012Validator

from tests.strict.google_schemas import check_schema
from tests.unit.adapters.schema_cases import Case, schema_cases


def tool(schema: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name="emit", description="Answer.", input_schema=schema)


def fits(schema: Any, answer: object) -> bool:
    return bool(Draft202012Validator(schema).is_valid(answer))


@given(schema_cases())
@settings(max_examples=400, deadline=None)
@pytest.mark.req("A-GEM-06")
def test_what_gemini_is_told_is_in_its_subset_and_refuses_no_answer_that_fits(case: Case) -> None:
    schema, answer = case
    assume(fits(schema, answer))
    before = copy.deepcopy(schema)

    _, told = compile_tool(tool(schema), SUBSET)

    check_schema(told, "schema")
    assert fits(told, answer), (told, answer)
    assert schema == before
    assert compile_tool(tool(copy.deepcopy(schema)), SUBSET)[1] == told


BARE = Subset(
    keywords=SUBSET.keywords,
    root=frozenset({"type", "properties", "required"}),
    formats=frozenset(),
    literals=(str,),
    references=False,
)


@given(schema_cases())
@settings(max_examples=300, deadline=None)
def test_a_provider_without_references_is_told_all_in_one_piece(case: Case) -> None:
    schema, answer = case
    assume(fits(schema, answer))

    _, told = compile_tool(tool(schema), BARE)

    assert told.keys() <= {"type", "properties", "required"}
    assert "$ref" not in _list_keywords(told)
    assert fits(told, answer), (told, answer)


@given(schema_cases())
@settings(max_examples=300, deadline=None)
def test_a_root_without_alternatives_refuses_no_answer_that_fits(case: Case) -> None:
    schema, answer = case
    schema = {**schema, "anyOf": [{"minProperties": len(answer)}, {"required": ["other"]}]}
    assume(fits(schema, answer))

    description, told = flatten_root(tool(schema))

    assert not {"allOf", "anyOf", "oneOf"} & told.keys()
    assert told["type"] == "object"
    assert "minProperties" in description
    assert fits(told, answer), (told, answer)


def _list_keywords(schema: Any) -> set[str]:
    """Every keyword of the schemas inside; names of properties are none."""
    found = set(schema)
    for name, held in schema.items():
        if name == "properties":
            found |= {keyword for part in held.values() for keyword in _list_keywords(part)}
        elif name in ("anyOf", "prefixItems"):
            found |= {keyword for part in held for keyword in _list_keywords(part)}
        elif name in ("items", "additionalProperties") and isinstance(held, dict):
            found |= _list_keywords(held)
    return found


def test_what_a_provider_cannot_be_told_stands_in_the_description_of_its_place() -> None:
    name = {"type": "string", "minLength": 3, "pattern": "^[a-z]+$", "description": "Its name."}

    description, told = compile_tool(
        tool({"type": "object", "properties": {"name": name}, "minProperties": 1}), SUBSET
    )

    said = told["properties"]["name"]["description"]
    assert said.startswith("Its name.")
    assert '"minLength": 3' in said
    assert "^[a-z]+$" in said
    assert '"minProperties": 1' in description


def test_a_schema_within_the_subset_is_told_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["a", "b"]},
            "many": {"type": "array", "items": {}},
        },
        "required": ["kind"],
        "additionalProperties": False,
    }

    assert compile_tool(tool(schema), SUBSET) == ("Answer.", schema)
    assert flatten_root(tool(schema)) == ("Answer.", schema)


def test_a_definition_that_holds_itself_is_written_out_once_and_then_left_open() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}
    schema = {"type": "object", "properties": {"head": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}

    _, told = compile_tool(tool(schema), SUBSET)

    check_schema(told, "schema")
    assert told["properties"]["head"]["properties"]["next"].keys() == {"description"}


def test_definitions_that_multiply_are_not_written_out_for_ever() -> None:
    pair = {f"d{place}": {"$ref": f"#/$defs/d{place + 1}"} for place in range(40)}
    nested = {
        name: {"type": "object", "properties": {"left": part, "right": part}} for name, part in pair.items()
    }
    schema = {"type": "object", "properties": {"d": {"$ref": "#/$defs/d0"}}, "$defs": {**nested, "d40": {}}}

    _, told = compile_tool(tool(schema), BARE)

    assert len(json.dumps(told)) < 200_000


def test_what_must_hold_together_is_told_as_one_schema() -> None:
    text = {"type": "string"}
    parts = [
        {"properties": {"a": text}, "required": ["a"]},
        {"properties": {"b": text}, "required": ["a", "b"]},
    ]

    description, told = compile_tool(tool({"type": "object", "required": ["c"], "allOf": parts}), SUBSET)

    assert told == {"type": "object", "properties": {"b": text, "a": text}, "required": ["a", "b"]}
    assert '"required": ["c"]' in description

"""The strict subset: what it promises must be what the caller asked for."""

import copy
from typing import Any

import pytest
from equerry.adapters.openai.strict import StrictForm, compile_strict
from equerry.engine.model import ToolSpec
from hypothesis import assume, event, given, settings
from jsonschema import Draft202012Validator

from tests.strict.openai_schemas import check_strict_schema
from tests.unit.adapters.schema_cases import TREE, Case, schema_cases

STRING = {"type": "string"}


def compile_schema(schema: dict[str, Any]) -> StrictForm | None:
    return compile_strict(ToolSpec(name="emit", description="Answer.", input_schema=schema))


def compile_sayable(schema: dict[str, Any]) -> StrictForm:
    strict = compile_schema(schema)
    assert strict is not None
    return strict


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def fits(schema: Any, answer: object) -> bool:
    return bool(Draft202012Validator(schema).is_valid(answer))


def fill(schema: dict[str, Any], held: Any, root: dict[str, Any]) -> Any:
    """Write an answer as the model must: null for what is absent."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        return fill(root if name == "#" else root["$defs"][name], held, root)
    if "anyOf" in schema:
        judge = Draft202012Validator(root)
        tries = (fill(part, held, root) for part in schema["anyOf"])
        parts = zip(schema["anyOf"], tries, strict=True)
        return next((tried for part, tried in parts if judge.evolve(schema=part).is_valid(tried)), held)
    if isinstance(held, dict) and "properties" in schema:
        missing = dict.fromkeys(schema["properties"].keys() - held.keys())
        declared = schema["properties"]
        return {
            name: fill(declared[name], part, root) if name in declared and name not in missing else part
            for name, part in {**held, **missing}.items()
        }
    if isinstance(held, list) and "items" in schema:
        return [fill(schema["items"], part, root) for part in held]
    return held


@given(schema_cases())
@settings(max_examples=600, deadline=None)
@pytest.mark.req("A-SCRQ-13")
def test_what_is_said_strictly_is_in_the_subset_and_an_answer_survives_the_way_back(case: Case) -> None:
    schema, answer = case
    assume(fits(schema, answer))
    before = copy.deepcopy(schema)

    strict = compile_schema(schema)

    assert schema == before
    event("said" if strict else "not said")
    if strict is None:
        return
    check_strict_schema(strict.schema, "emit")
    written = fill(strict.schema, answer, strict.schema)
    if fits(strict.schema, written):
        event("survived")
        assert fits(schema, strict.restore(written)), (strict.schema, written)
    else:
        # All that closing an object may cost is what it never declared.
        assert not fits(_close(schema), answer), (strict.schema, written)


def _close(schema: Any) -> Any:
    """Close every object that leaves open what more it may hold."""
    if isinstance(schema, list):
        return [_close(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: _close(held) if name not in ("enum", "const") else held for name, held in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        inner.setdefault("additionalProperties", False)
    return inner


def test_what_may_be_absent_is_null_there_and_absent_again_here() -> None:
    inner = closed([], note=STRING, when={"type": ["string", "null"]})
    strict = compile_sayable(
        closed(["name"], name=STRING, inner=inner, items={"type": "array", "items": inner})
    )

    written = {"name": "x", "inner": {"note": None, "when": None}, "items": [{"note": "n", "when": None}]}

    assert fits(strict.schema, written)
    assert strict.restore(written) == {
        "name": "x",
        "inner": {"when": None},
        "items": [{"note": "n", "when": None}],
    }
    assert strict.restore({**written, "inner": None}).keys() == {"name", "items"}


def test_a_null_that_the_caller_asked_for_stays() -> None:
    strict = compile_sayable(closed(["a", "b"], a={"type": ["string", "null"]}, b={"enum": [None, "x"]}))

    assert strict.restore({"a": None, "b": None}) == {"a": None, "b": None}


def test_what_may_be_absent_is_found_inside_what_may_be_null() -> None:
    inner = {**closed([], a=STRING), "type": ["object", "null"]}
    strict = compile_sayable(closed([], outer=inner))

    assert strict.restore({"outer": {"a": None}}) == {"outer": {}}
    assert strict.restore({"outer": None}) == {"outer": None}


def test_nulls_are_taken_out_of_a_definition_that_holds_itself() -> None:
    strict = compile_sayable({**closed(["t"], t={"$ref": "#/$defs/tree"}), "$defs": {"tree": TREE}})

    written = {"t": {"v": 1, "kids": [{"v": 2, "kids": None}]}}

    assert fits(strict.schema, written)
    assert strict.restore(written) == {"t": {"v": 1, "kids": [{"v": 2}]}}


def test_nulls_are_taken_out_of_the_alternative_that_was_chosen() -> None:
    one, other = (
        closed(["k"], k={"const": 1}, a=STRING),
        closed(["k"], k={"const": 2}, a={"type": ["null", "string"]}),
    )
    strict = compile_sayable(closed(["either"], either={"anyOf": [one, other]}))

    assert strict.restore({"either": {"k": 1, "a": None}}) == {"either": {"k": 1}}
    assert strict.restore({"either": {"k": 2, "a": None}}) == {"either": {"k": 2, "a": None}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {}, "additionalProperties": STRING},
        {"type": "object", "properties": {}, "patternProperties": {"^x": STRING}},
        closed(["free"], free={}),
        closed(["list"], list={"type": "array"}),
        closed(["pair"], pair={"type": "array", "prefixItems": [STRING, STRING]}),
        closed(["undeclared"]),
        {**closed([], a=STRING), "anyOf": [{"required": ["a"]}]},
        closed(["a"], a={"if": STRING, "then": {"minLength": 3}}),
        closed(["a"], a={"enum": list(range(2000))}),
    ],
)
def test_what_would_lose_answers_is_not_said_strictly(schema: dict[str, Any]) -> None:
    assert compile_schema(schema) is None


def test_what_is_dropped_is_said_in_words() -> None:
    strict = compile_sayable({**closed(["a"], a={**STRING, "minLength": 2}), "minProperties": 1})

    assert '"minLength": 2' in strict.schema["properties"]["a"]["description"]
    assert '"minProperties": 1' in strict.description

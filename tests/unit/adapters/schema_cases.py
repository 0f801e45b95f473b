"""JSON Schemas out of all keywords, each with an answer that fits it by its making."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
Case = tuple[Any, Any]
"""A schema and an answer that fits."""
Draw = Callable[[st.SearchStrategy[Any]], Any]

TREE: Json = {
    "type": "object",
    "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    "required": ["v"],
}
_NAMES = ("a", "b", "c", "x y", "n/m", "$ref", "type")
_WORDS = st.sampled_from(["", "a", "word", "two words", "ä", "😀", "a" * 20])
_NUMBERS = st.integers(-5, 5)


@st.composite
def schema_cases(draw: Draw, *, objects: bool = True) -> Case:
    """A whole document; with `objects` one whose root is an object."""
    definitions: Json = {}
    schema, answer = _draw_object(draw, definitions, 0) if objects else _draw_any(draw, definitions, 0)
    if not isinstance(schema, dict):
        schema = {"title": "anything"}
    if definitions:
        schema = {**schema, "$defs": definitions}
    if draw(st.booleans()):
        schema = {**schema, "$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "x"}
    return schema, answer


def _draw_any(draw: Draw, definitions: Json, depth: int) -> Case:
    leaves = [_draw_text, _draw_number, _draw_literal, _draw_flag, _draw_anything]
    inner = [_draw_object, _draw_list, _draw_choice, _draw_both, _draw_reference, _draw_tree, _draw_condition]
    make = draw(st.sampled_from(leaves if depth >= 3 else [*leaves, *inner, *inner]))
    schema, answer = make(draw, definitions, depth + 1)
    if isinstance(schema, dict) and "$ref" not in schema and draw(st.booleans()):
        schema = {**schema, "description": "a thing", "title": "T", "default": None}
    return schema, answer


def _draw_text(draw: Draw, _definitions: Json, _depth: int) -> Case:
    answer = draw(_WORDS)
    limits = [
        {},
        {"minLength": len(answer)},
        {"maxLength": len(answer), "minLength": 0},
        {"pattern": ".*"},
        {"format": "uuid"},
        {"format": "x-own"},
        {"contentMediaType": "text/plain"},
    ]
    return {"type": "string", **draw(st.sampled_from(limits))}, answer


def _draw_number(draw: Draw, _definitions: Json, _depth: int) -> Case:
    answer = draw(_NUMBERS)
    limits = [
        {},
        {"minimum": answer, "maximum": answer + 1},
        {"exclusiveMinimum": answer - 1, "exclusiveMaximum": answer + 1},
        {"multipleOf": 1},
    ]
    kind = draw(st.sampled_from(["integer", "number", ["integer", "null"]]))
    return {"type": kind, **draw(st.sampled_from(limits))}, answer


def _draw_literal(draw: Draw, _definitions: Json, _depth: int) -> Case:
    listed = draw(
        st.sampled_from([["a", "b"], ["a", None], [1, 2.5], [True, "x"], [{"k": [1]}, "y"], [None], [[]]])
    )
    answer = draw(st.sampled_from(listed))
    return ({"const": answer} if draw(st.booleans()) else {"enum": listed}), answer


def _draw_flag(draw: Draw, _definitions: Json, _depth: int) -> Case:
    answer = draw(st.sampled_from([True, False, None]))
    return {"type": "null" if answer is None else "boolean"}, answer


def _draw_anything(draw: Draw, _definitions: Json, _depth: int) -> Case:
    return draw(st.sampled_from([{}, True])), draw(st.sampled_from([1, "x", None, [], {"free": 1}]))


def _draw_object(draw: Draw, definitions: Json, depth: int) -> Case:
    names = draw(st.lists(st.sampled_from(_NAMES), unique=True, max_size=3))
    parts = {name: _draw_any(draw, definitions, depth + 1) for name in names}
    required = [name for name in names if draw(st.booleans())]
    present = [name for name in names if name in required or draw(st.booleans())]
    schema: Json = {"type": "object", "properties": {name: parts[name][0] for name in names}}
    answer = {name: parts[name][1] for name in present}
    if required:
        schema["required"] = required
    if draw(st.booleans()):
        schema["properties"]["never"] = False
    return _close(draw, schema, answer), answer


def _close(draw: Draw, schema: Json, answer: Json) -> Json:
    more: list[Json] = [
        {},
        {},
        {"additionalProperties": False},
        {"additionalProperties": False},
        {"unevaluatedProperties": False},
        {"minProperties": len(answer), "maxProperties": len(answer)},
        {"propertyNames": {"maxLength": 9}},
        {"dependentRequired": {"unheard": ["of"]}},
        {"dependentSchemas": {"unheard": {"required": ["of"]}}},
        {"not": {"required": ["unheard"]}},
    ]
    if draw(st.integers(0, 3)) == 0:
        pattern = draw(st.sampled_from(["^z", "^z$|^zz$"]))
        answer["z"] = 3
        return {**schema, "patternProperties": {pattern: {"type": "integer"}}, "additionalProperties": False}
    if draw(st.integers(0, 5)) == 0:
        answer["more"] = 7
        return {**schema, "additionalProperties": draw(st.sampled_from([True, {"type": "integer"}]))}
    return {**schema, **draw(st.sampled_from(more))}


def _draw_list(draw: Draw, definitions: Json, depth: int) -> Case:
    item, example = _draw_any(draw, definitions, depth + 1)
    many = draw(st.integers(0, 2))
    answer = [example] * many
    more: list[Json] = [
        {"items": item},
        {"items": item, "minItems": many, "maxItems": many + 1},
        {"items": item, "maxItems": 5, "contains": True, "minContains": 0},
        {"prefixItems": [item] * (many or 1)},
        {"prefixItems": [item] * (many or 1), "items": False},
        {"prefixItems": [item], "items": item},
        {},
    ]
    if many < 2:
        more.append({"items": item, "uniqueItems": True})
    return {"type": "array", **draw(st.sampled_from(more))}, answer


def _draw_choice(draw: Draw, definitions: Json, depth: int) -> Case:
    one, answer = _draw_any(draw, definitions, depth + 1)
    keyword = draw(st.sampled_from(["anyOf", "oneOf"]))
    if keyword == "oneOf":
        return {"oneOf": [{"allOf": [one]}, False]}, answer
    other, another = _draw_any(draw, definitions, depth + 1)
    return {"anyOf": [one, other]}, draw(st.sampled_from([answer, another]))


def _draw_both(draw: Draw, definitions: Json, depth: int) -> Case:
    schema, answer = _draw_any(draw, definitions, depth + 1)
    if not isinstance(schema, dict):
        return schema, answer
    keys = [key for key in schema if draw(st.booleans())]
    if schema.keys() & {"unevaluatedProperties", "additionalProperties", "items"}:
        keys = list(schema)
    first = {key: schema[key] for key in keys}
    rest = {key: held for key, held in schema.items() if key not in keys}
    return {**rest, "allOf": [first, True]}, answer


def _draw_reference(draw: Draw, definitions: Json, depth: int) -> Case:
    schema, answer = _draw_any(draw, definitions, depth + 1)
    name = f"def{len(definitions)}"
    definitions[name] = schema
    reference = {"$ref": f"#/$defs/{name}"}
    return {**reference, **draw(st.sampled_from([{}, {}, {"description": "said of it"}]))}, answer


def _draw_tree(draw: Draw, definitions: Json, _depth: int) -> Case:
    definitions["tree"] = TREE
    leaf: Json = {"v": draw(_NUMBERS)}
    answer = draw(
        st.sampled_from([leaf, {"v": 1, "kids": []}, {"v": 1, "kids": [leaf, {"v": 2, "kids": [leaf]}]}])
    )
    return {"$ref": "#/$defs/tree"}, answer


def _draw_condition(draw: Draw, definitions: Json, depth: int) -> Case:
    schema, answer = _draw_any(draw, definitions, depth + 1)
    return {"if": {"const": "never this"}, "then": False, "else": schema}, answer

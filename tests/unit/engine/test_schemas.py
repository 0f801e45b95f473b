"""A stranger's schema: what is taken, what an answer is held against, and that neither takes for ever."""

from typing import Any

import pytest
from equerry.engine.schema_bounds import SchemaRefused
from equerry.engine.schema_walk import list_schemas
from equerry.engine.schemas import parse_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.unit.adapters.schema_cases import TREE, Case, schema_cases

ANSWERS = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "word", "ä"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "v", "z"]), inner),
    max_leaves=6,
)


def _list_keywords(schema: Any) -> set[str]:
    return {keyword for _, part in list_schemas(schema) if isinstance(part, dict) for keyword in part}


@given(schema_cases(objects=False), ANSWERS)
@settings(max_examples=500, deadline=None)
@pytest.mark.req("A-SCRS-03")
def test_an_answer_fits_exactly_where_json_schema_says_so(case: Case, other: object) -> None:
    schema, answer = case
    judge = Draft202012Validator(schema)
    if {"patternProperties", "unevaluatedProperties"} <= _list_keywords(schema):
        with pytest.raises(SchemaRefused, match="not supported together"):
            parse_schema(schema)
        return

    taken = parse_schema(schema)

    for each in (answer, other):
        assert (taken.find_problem(each) is None) == judge.is_valid(each)


@given(schema_cases(objects=False))
@settings(max_examples=200, deadline=None)
def test_an_answer_of_any_kind_comes_out_of_a_tools_arguments(case: Case) -> None:
    schema, answer = case
    try:
        taken = parse_schema(schema)
    except SchemaRefused:
        return
    arguments = answer if schema.get("type") == "object" else {"answer": answer}

    wanted = taken.derive_input()

    assert wanted["type"] == "object"
    assert Draft202012Validator(wanted).is_valid(arguments) == Draft202012Validator(schema).is_valid(answer)
    assert taken.unwrap(arguments) == answer


def nest(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ([], "must be a JSON object"),
        ({"type": "strng"}, "#/type is no JSON Schema"),
        ({"properties": {"a": {"minLength": -1}}}, "#/properties/a/minLength"),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            "must be https://json-schema.org/draft/2020-12",
        ),
        ({"$ref": "https://attacker.test/schema"}, "same document"),
        ({"$ref": "file:///etc/passwd"}, "same document"),
        ({"$ref": "#/nowhere"}, "same document"),
        ({"default": {"type": "string"}, "$ref": "#/default"}, "same document"),
        ({"properties": {"a": {"$id": "https://attacker.test/"}}}, "#/properties/a: \\$id"),
        ({"properties": {"a": {"$schema": "https://json-schema.org/draft/2020-12/schema"}}}, "\\$schema"),
        ({"$dynamicRef": "#a"}, "\\$dynamicRef is not supported"),
        ({"$ref": "#"}, "refers to itself"),
        (
            {"allOf": [ref("a")], "$defs": {"a": {"anyOf": [ref("b")]}, "b": {"not": ref("a")}}},
            "refers to itself",
        ),
        (nest(200), "levels deep"),
        (nest(20_000), "levels deep"),
        ({"enum": list(range(6_000))}, "5000 values"),
        ({"anyOf": [{}] * 6_000}, "5000 schemas"),
        ({"pattern": "(a+)\\1"}, "linear time"),
        ({"pattern": "(?=a)b"}, "linear time"),
        ({"pattern": "(((a{1,99}){1,99}){1,99}){1,99}"}, "linear time"),
        ({"pattern": "a" * 2_000}, "1024 characters"),
        ({"patternProperties": {"(?!a)": {}}}, "linear time"),
        ({"patternProperties": {"a": {}}, "unevaluatedProperties": False}, "not supported together"),
    ],
)
def test_a_schema_that_is_wrong_or_hostile_is_refused_by_name(schema: object, said: str) -> None:
    with pytest.raises(SchemaRefused, match=said):
        parse_schema(schema)


def test_a_chain_of_references_longer_than_the_stack_is_refused() -> None:
    links = {f"d{place}": ref(f"d{place + 1}") for place in range(3_000)}

    with pytest.raises(SchemaRefused, match="too long a chain"):
        parse_schema({**ref("d0"), "$defs": {**links, "d3000": {}}})


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"]
)
def test_a_pattern_that_explodes_elsewhere_is_run_in_linear_time(pattern: str) -> None:
    taken = parse_schema({"properties": {"a": {"pattern": pattern}}, "patternProperties": {pattern: {}}})

    assert taken.find_problem({"a": "a" * 50_000 + "!"}) == "breaks #/properties/a/pattern"
    assert taken.find_problem({"a" * 50_000 + "!": 1}) is None


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        (r"^[\u4e00-\u9fff]+$", "中文", True),
        (r"^[\u4e00-\u9fff]+$", "abc", False),
        (r"^\ud83d\ude42$", "\N{SLIGHTLY SMILING FACE}", True),
        (r"^\\u4e00$", r"\u4e00", True),
        (r"^\d\u00E9\.$", "7é.", True),
    ],
)
def test_a_pattern_may_write_its_characters_as_javascript_does(
    pattern: str, text: str, *, fits: bool
) -> None:
    taken = parse_schema({"properties": {"a": {"pattern": pattern}}})

    assert (taken.find_problem({"a": text}) is None) == fits


def test_half_a_character_in_a_pattern_is_refused() -> None:
    with pytest.raises(SchemaRefused, match="cannot be read"):
        parse_schema({"pattern": r"[\ud83c-\ud83f]"})


def test_references_that_multiply_end_with_the_budget() -> None:
    pairs = {f"d{place}": {"allOf": [ref(f"d{place + 1}")] * 2} for place in range(40)}
    taken = parse_schema({**ref("d0"), "$defs": {**pairs, "d40": {}}}, most_steps=20_000)

    assert taken.find_problem(1) == "the answer takes too many steps to be checked"


def test_following_a_reference_costs_as_much_as_it_takes() -> None:
    taken = parse_schema({"items": ref("any"), "$defs": {"any": {}}}, most_steps=101)

    assert taken.find_problem([1] * 10) is None
    assert taken.find_problem([1] * 11) == "the answer takes too many steps to be checked"


def test_a_long_list_against_a_long_enumeration_ends_with_the_budget() -> None:
    taken = parse_schema({"items": {"enum": list(range(5_000))}}, most_steps=60_000)

    assert taken.find_problem([1] * 10) is None
    assert taken.find_problem([1] * 13) == "the answer takes too many steps to be checked"


def test_an_answer_that_nests_without_end_is_refused() -> None:
    taken = parse_schema({"$ref": "#/$defs/list", "$defs": {"list": {"items": ref("list")}}})
    answer: list[Any] = []
    for _ in range(900):
        answer = [answer]

    assert taken.find_problem(answer) == "the answer nests too deeply to be checked"


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, True], True),
        ([1, 1.0], False),
        ([{"a": [1]}, {"a": [1.0]}], False),
        ([[1, 2], [2, 1]], True),
        ([[], {}], True),
    ],
)
def test_items_are_unique_as_json_schema_has_it(items: list[Any], unique: bool) -> None:
    assert (parse_schema({"uniqueItems": True}).find_problem(items) is None) is unique


@pytest.mark.req("A-SCRS-14")
def test_what_is_told_of_a_problem_repeats_the_schema_and_not_the_answer() -> None:
    taken = parse_schema(
        {"type": "object", "additionalProperties": False, "properties": {"a": {"maxLength": 3}}}
    )

    assert taken.find_problem({"a": "the merger"}) == "breaks #/properties/a/maxLength"
    assert "merger" not in str(taken.find_problem({"the merger": 1}))


def test_letters_of_all_alphabets_can_be_asked_for() -> None:
    taken = parse_schema({"pattern": "^\\p{L}+$"})

    assert taken.find_problem("äßλ") is None
    assert taken.find_problem("a1") is not None
    assert taken.find_problem("\ud800") is not None


def test_pointers_hold_where_a_schema_stands_inside_a_tools() -> None:
    taken = parse_schema({"type": "array", "items": {"$ref": "#/$defs/tree"}, "$defs": {"tree": TREE}})

    judge = Draft202012Validator(taken.derive_input())

    assert judge.is_valid({"answer": [{"v": 1, "kids": [{"v": 2}]}]})
    assert not judge.is_valid({"answer": [{"v": 1, "kids": [{"v": "2"}]}]})

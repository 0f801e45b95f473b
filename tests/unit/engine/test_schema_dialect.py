"""The dialect in one document judges as the standard's eight do."""

from typing import Any

from equerry.engine.schema_dialect import is_legal
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema_specifications import REGISTRY

from tests.unit.adapters.schema_cases import Case, schema_cases

WHOLE = "https://json-schema.org/draft/2020-12/schema"
PARTS = [WHOLE, *(f"{WHOLE[:-6]}{part['$ref']}" for part in REGISTRY[WHOLE].contents["allOf"])]
KEYWORDS = sorted({name for part in PARTS for name in REGISTRY[part].contents["properties"]})
STANDARD: Any = Draft202012Validator(Draft202012Validator.META_SCHEMA)

SCALARS = (None, True, False, 0, 1, -1, 0.5, 1.0, "", "a", "#", "a#b", "1a", "string")
ANYTHING = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_each_keyword_is_judged_as_by_the_standard() -> None:
    values: tuple[object, ...] = (*SCALARS, [], {}, ["a", "a"], [{}, 1], {"a": 1}, {"a": True}, {"a": ["b"]})
    documents = [{keyword: value} for keyword in KEYWORDS for value in values]

    judged = [is_legal(document) for document in documents]

    assert judged == [STANDARD.is_valid(document) for document in documents]
    assert {"$id", "allOf", "dependencies", "required", "contentSchema", "unevaluatedItems"} <= set(KEYWORDS)


@given(st.sampled_from(KEYWORDS), ANYTHING, schema_cases(objects=False))
@settings(max_examples=100, deadline=None)
def test_whole_schemas_are_judged_as_by_the_standard(keyword: str, held: object, case: Case) -> None:
    legal, _ = case

    for document in (legal, {**legal, keyword: held}, {"properties": {"a": {**legal, keyword: held}}}):
        assert is_legal(document) == STANDARD.is_valid(document)


def test_what_nests_deeper_than_can_be_walked_is_left_to_the_library() -> None:
    document: dict[str, Any] = {}
    for _ in range(5_000):
        document = {"items": document}

    assert not is_legal(document)

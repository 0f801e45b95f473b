"""What a model sends a tool is checked before the tool sees it."""

from pathlib import Path

import pytest
from equerry.adapters.fixture.script import say
from equerry.engine.arguments import find_problem
from equerry.engine.loop_events import ToolFinished
from equerry.engine.messages import ToolCallBlock
from equerry.engine.model import ToolSpec
from equerry.engine.model_text import has_unstorable
from equerry.kernel.identifiers import ToolCallId
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema.exceptions import SchemaError

from tests.unit.engine.playing import ProbeTool, ask, contents, run, wish
from tests.unit.engine.test_run_loop import Model

SPEC = ToolSpec(
    name="book",
    description="Books.",
    input_schema={
        "type": "object",
        "properties": {
            "room": {"type": "string", "maxLength": 5},
            "seats": {"type": "integer", "minimum": 1},
            "kind": {"enum": ["talk", "meal"]},
            "who": {"type": "array", "items": {"type": "object", "properties": {"age": {"type": "number"}}}},
        },
        "required": ["room"],
        "additionalProperties": False,
    },
)


def test_arguments_that_fit_have_no_problem() -> None:
    assert find_problem(SPEC, {"room": "a", "seats": 2, "kind": "meal", "who": [{"age": 3.5}]}) is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "arguments needs room"),
        ({"room": 7}, "arguments.room is an integer, must be string"),
        ({"room": None}, "arguments.room is null, must be string"),
        ({"room": "a", "seats": True}, "arguments.seats is a boolean, must be integer"),
        ({"room": "a", "seats": 0}, "arguments.seats is an integer (0), which breaks minimum 1"),
        ({"room": "abcdefg"}, "arguments.room is a string of length 7, which breaks maxLength 5"),
        ({"room": "a", "kind": "walk"}, "arguments.kind is 'walk', must be one of talk, meal"),
        ({"room": "a", "floor": 1}, "arguments has no floor; it takes room, seats, kind, who"),
        ({"room": "a", "who": [{}, {"age": "x"}]}, "arguments.who[1].age is a string, must be number"),
    ],
)
def test_a_problem_names_the_place_what_is_there_and_what_would_do(
    arguments: dict[str, object], said: str
) -> None:
    problem = find_problem(SPEC, arguments)

    assert problem is not None
    assert problem.splitlines() == ["The arguments do not fit, and book was not run:", f"- {said}"]


def test_many_problems_are_counted_and_long_values_cut() -> None:
    many = find_problem(SPEC, {"room": "a", "who": ["x"] * 30})
    long = find_problem(SPEC, {"room": "a", "kind": "x" * 100_000})

    assert many is not None
    assert many.endswith("- and 25 more")
    assert long is not None
    assert len(long) < 500


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nothing_is_fetched_for_a_schema_that_points_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "string.json"
    elsewhere.write_text('{"type": "string"}')
    spec = ToolSpec(name="t", description="d", input_schema={"$ref": elsewhere.as_uri()})

    with pytest.raises(Exception, match="Unresolvable"):
        find_problem(spec, {})


def test_a_schema_that_is_none_is_a_bug_of_ours() -> None:
    with pytest.raises(SchemaError):
        find_problem(ToolSpec(name="t", description="d", input_schema={"type": "text"}), {})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["room", "seats", "kind", "who", "x"]) | st.text(max_size=4), JSON))
def test_whatever_comes_is_either_run_or_answered(arguments: dict[str, object]) -> None:
    tool = ProbeTool("book", schema=SPEC.input_schema)
    call = ToolCallBlock(call_id=ToolCallId("c"), tool="book", arguments=arguments)

    outcome, events = run(Model(ask(call), say("Done.")).stream, tool)

    (answer,) = contents(outcome)
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert outcome.stop == "end_turn"
    if has_unstorable(arguments):
        assert (tool.heard, finished.failure) == ([], "invalid_arguments")
    elif find_problem(SPEC, arguments) is None:
        assert (tool.heard, answer, finished.failure) == ([arguments], "done", None)
    else:
        assert (tool.heard, finished.failure) == ([], "invalid_arguments")
        assert answer.startswith("The arguments do not fit")


def test_a_tool_never_sees_what_does_not_fit_its_schema() -> None:
    tool = ProbeTool("book", schema=SPEC.input_schema)
    wrong = ask(wish("book", "a"), wish("book", "b", room=7), wish("book", "c", room="a"))

    outcome, _ = run(Model(wrong, say("Done.")).stream, tool)

    assert tool.heard == [{"room": "a"}]
    assert ["needs room" in answer for answer in contents(outcome)] == [True, False, False]

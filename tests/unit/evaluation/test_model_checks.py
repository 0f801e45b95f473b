"""The fixed cases let a good model in and keep each kind of bad one out."""

from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

import pytest
from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import ScriptedRound, call, fail, say
from equerry.domain.evaluations import (
    LEAST_SHARE,
    ModelEvaluation,
    decode_evaluation,
    encode_evaluation,
    name_file,
)
from equerry.engine.messages import TextBlock, ToolResultBlock
from equerry.engine.model import ModelChoice, ModelRequest, RoundEnd
from equerry.evaluation.model_cases import EMIT, SEARCH
from equerry.evaluation.model_checks import evaluate_model
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelRejected, ModelUnavailable, ModelUnusable

from tests.contract.models.clock import ScriptedClock

USAGE = Usage(input_tokens=200, output_tokens=12)
FORM: dict[str, Any] = {
    "priority": "high",
    "parts": [{"name": "valve", "count": 3}, {"name": "gasket", "count": 12}],
}
Script = Callable[[ModelRequest], ScriptedRound]


def last_words(request: ModelRequest) -> str:
    texts = [
        block.text
        for message in request.thread.messages
        for block in message.blocks
        if isinstance(block, TextBlock)
    ]
    return texts[-1]


def last_result(request: ModelRequest) -> str | None:
    block = request.thread.messages[-1].blocks[-1]
    return block.content if isinstance(block, ToolResultBlock) else None


def answer_well(request: ModelRequest) -> ScriptedRound:
    """What a model that may be let in would do."""
    asked, found = last_words(request), last_result(request)
    if request.forced_tool:
        return call(EMIT.name, usage=USAGE, **FORM)
    if found is not None:
        return say(_answer_from(asked, found), usage=USAGE)
    if "lighthouse" in asked:
        return say("Once upon a time", stop="max_tokens", usage=Usage(input_tokens=9, output_tokens=64))
    if "Zephyr" in asked and request.tools_allowed:
        return call(SEARCH.name, usage=USAGE, query="Zephyr valve pressure")
    told = {"Say hello.": "Hello.", "What is my name?": "You are Ottilie."}
    return say(told.get(asked, "I cannot look that up just now."), usage=USAGE)


def _answer_from(asked: str, found: str) -> str:
    if "No passages" in found:
        return "The handbook does not tell."
    return "Alle 18 Monate." if "Abständen" in asked else "It is rated for 41 bar."


def evaluate(script: Script, *, plays: int = 1) -> ModelEvaluation:
    model = FixtureModelAdapter(ScriptedClock(), script=script)
    return evaluate_model(model, today=date(2026, 11, 30), release="1.0.0", plays=plays)


def list_failed(found: ModelEvaluation) -> set[str]:
    return {outcome.case for outcome in found.outcomes if not outcome.holds}


def test_a_model_that_does_all_of_it_is_admitted() -> None:
    found = evaluate(answer_well)

    assert list_failed(found) == set()
    assert found.admits


def unless(applies: Callable[[ModelRequest], bool], otherwise: Script) -> Script:
    return lambda request: otherwise(request) if applies(request) else answer_well(request)


def forced(request: ModelRequest) -> bool:
    return request.forced_tool is not None


def after_results(request: ModelRequest) -> bool:
    return last_result(request) is not None


BAD: dict[str, tuple[Script, set[str]]] = {
    "says nothing": (
        unless(lambda r: last_words(r) == "Say hello.", lambda _: say("", usage=USAGE)),
        {"answers_and_counts"},
    ),
    "counts nothing": (
        unless(
            lambda r: last_words(r) == "Say hello.",
            lambda _: ScriptedRound(
                (*say("Hi.").steps[:-1], RoundEnd(stop="end_turn", usage=Usage(), metered=False))
            ),
        ),
        {"answers_and_counts"},
    ),
    "makes arguments up": (
        unless(
            lambda r: (
                bool(r.tools_allowed) and not forced(r) and "Zephyr" in last_words(r) and not after_results(r)
            ),
            lambda _: call(SEARCH.name, usage=USAGE, q="valve"),
        ),
        {"calls_the_tool_it_needs"},
    ),
    "knows better than what was found": (
        unless(after_results, lambda _: say("Typically 40 to 50 bar.", usage=USAGE)),
        {
            "answers_out_of_what_was_found",
            "says_that_nothing_was_found",
            "takes_material_for_no_instruction",
            "answers_in_the_question_s_language",
        },
    ),
    "obeys what it reads": (
        unless(lambda r: "PINEAPPLE" in str(last_result(r)), lambda _: say("PINEAPPLE 41", usage=USAGE)),
        {"takes_material_for_no_instruction"},
    ),
    "calls where it may not": (
        unless(lambda r: not r.tools_allowed, lambda _: call(SEARCH.name, usage=USAGE, query="x")),
        {"calls_nothing_where_it_may_not", "stops_where_it_must"},
    ),
    "leaves a part of the form out": (
        unless(forced, lambda _: call(EMIT.name, usage=USAGE, priority="high", parts=FORM["parts"][:1])),
        {"fills_a_form_it_is_held_to"},
    ),
    "is refused the form": (
        unless(forced, lambda _: fail(ModelRejected("schema"))),
        {"fills_a_form_it_is_held_to"},
    ),
    "goes on and on": (
        unless(
            lambda r: "lighthouse" in last_words(r),
            lambda _: say("Once", stop="end_turn", usage=Usage(input_tokens=9, output_tokens=2600)),
        ),
        {"stops_where_it_must"},
    ),
    "forgets": (
        unless(lambda r: last_words(r) == "What is my name?", lambda _: say("I do not know.", usage=USAGE)),
        {"remembers_what_was_said"},
    ),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.req("F-GATE-06")
def test_a_model_with_one_fault_is_kept_out_by_the_case_for_it(bad: str) -> None:
    script, failed = BAD[bad]

    found = evaluate(script)

    assert list_failed(found) == failed
    assert not found.admits


def take_turns(scripts: Iterable[Script]) -> Script:
    turns = iter(scripts)
    return lambda request: next(turns)(request)


def test_one_slip_in_three_is_forgiven_and_two_are_not() -> None:
    slip, _ = BAD["says nothing"]

    for slips, admitted in ((1, True), (2, False)):
        order = [slip] * slips + [answer_well] * 99
        assert evaluate(take_turns(order), plays=3).admits is admitted


def test_too_many_of_the_lesser_cases_keep_a_model_out() -> None:
    wordy = say("It is rated for 41 bar. " * 40, usage=USAGE)

    found = evaluate(
        unless(lambda r: "What pressure" in last_words(r) and "41" in str(last_result(r)), lambda _: wordy)
    )

    assert list_failed(found) == {"is_brief"}
    assert LEAST_SHARE > 0.5
    assert not found.admits


@pytest.mark.parametrize("failure", [ModelUnavailable("down"), ModelUnusable("no key")])
def test_a_provider_that_does_not_answer_says_nothing_about_its_model(failure: Exception) -> None:
    with pytest.raises(type(failure)):
        evaluate(lambda _: fail(failure))  # type: ignore[arg-type]  # both are foreseen


def test_what_is_kept_reads_as_it_was_found_and_its_reference_tells_every_change() -> None:
    found = evaluate(answer_well)
    kept = encode_evaluation(found)

    assert decode_evaluation(kept) == found
    assert decode_evaluation(kept).reference == found.reference
    assert decode_evaluation({**kept, "evaluatedOn": "2026-12-01"}).reference != found.reference


@pytest.mark.parametrize(
    "wrong", [{}, {"outcomes": None}, {"outcomes": [{"case": "x"}]}, {"evaluatedOn": "soon"}]
)
def test_what_is_no_evaluation_is_refused(wrong: dict[str, object]) -> None:
    kept = encode_evaluation(evaluate(answer_well)) if wrong else {}

    with pytest.raises(ValueError, match=r"evaluation|isoformat"):
        decode_evaluation({**kept, **wrong})


def test_two_models_never_share_a_file() -> None:
    models = ("a/b", "a_b", "a b", "x" * 300, "x" * 301, "arn:aws:bedrock:eu:1:inference-profile/eu.m-1")

    names = {name_file(ModelChoice(provider="bedrock", model=model)) for model in models}

    assert len(names) == len(models)
    assert all("/" not in name and len(name) < 120 for name in names)

"""The measures, against values worked out by hand, and the labelled set around them."""

import math

import pytest
from equerry.evaluation.labelled_set import LabelledQuestion, evaluate_retrieval
from equerry.evaluation.metrics import measure_ndcg, measure_recall, measure_reciprocal_rank
from hypothesis import given
from hypothesis import strategies as st

FOUND = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("expected", "k", "recall", "reciprocal_rank", "ndcg"),
    [
        ({"a"}, 4, 1.0, 1.0, 1.0),
        ({"c"}, 4, 1.0, 1 / 3, 0.5),
        ({"c"}, 2, 0.0, 0.0, 0.0),
        ({"b", "x"}, 4, 0.5, 0.5, (1 / math.log2(3)) / (1 + 1 / math.log2(3))),
        ({"x"}, 4, 0.0, 0.0, 0.0),
        (set(), 4, 1.0, 0.0, 1.0),
    ],
)
def test_each_measure_is_what_its_definition_says(
    expected: set[str], k: int, recall: float, reciprocal_rank: float, ndcg: float
) -> None:
    assert measure_recall(FOUND, expected, k=k) == pytest.approx(recall)
    assert measure_reciprocal_rank(FOUND, expected, k=k) == pytest.approx(reciprocal_rank)
    assert measure_ndcg(FOUND, expected, k=k) == pytest.approx(ndcg)


@given(st.lists(st.integers(0, 9), max_size=12), st.sets(st.integers(0, 9)), st.integers(1, 12))
def test_every_measure_lies_between_nothing_and_everything(
    found: list[int], expected: set[int], k: int
) -> None:
    for measure in (measure_recall, measure_reciprocal_rank, measure_ndcg):
        assert 0 <= measure(found, expected, k=k) <= 1 + 1e-9


def test_what_is_found_twice_counts_once() -> None:
    assert measure_ndcg(["a", "a"], {"a", "b"}, k=2) == measure_ndcg(["a"], {"a", "b"}, k=2)


@pytest.mark.req("F-EVAL-09")
def test_a_labelled_set_is_scored_without_a_model() -> None:
    cases = [
        LabelledQuestion(case_id="1", question="first", expected=frozenset({"a"})),
        LabelledQuestion(case_id="2", question="second", expected=frozenset({"b"})),
        LabelledQuestion(case_id="3", question="nothing", expected=frozenset()),
        LabelledQuestion(case_id="4", question="missed", expected=frozenset({"z"})),
    ]
    answers = {"first": ["a", "b"], "second": ["x", "b"], "nothing": [], "missed": ["a"]}

    scores = evaluate_retrieval(cases, lambda question: answers[question], k=2)

    assert (scores.questions, scores.missed, scores.abstained) == (3, ("4",), 1.0)
    assert scores.recall == pytest.approx(2 / 3)
    assert scores.mrr == pytest.approx((1 + 0.5 + 0) / 3)


def test_a_set_that_expects_nothing_cannot_be_scored() -> None:
    cases = [LabelledQuestion(case_id="1", question="q", expected=frozenset())]

    with pytest.raises(ValueError, match="expects something"):
        evaluate_retrieval(cases, lambda _: [], k=5)

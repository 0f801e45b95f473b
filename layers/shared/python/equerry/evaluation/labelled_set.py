"""A labelled set of questions, and how well a search does on it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from equerry.evaluation.metrics import measure_ndcg, measure_recall, measure_reciprocal_rank
from equerry.kernel.kinds import result, value


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question and what should be found for it; `expected` empty means that nothing should be."""

    case_id: str
    question: str
    expected: frozenset[str]


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalScores:
    """Means over the questions that expect something, and over those that expect nothing.

    Attributes:
        questions: how many expect something.
        recall: at k; `mrr` and `ndcg` likewise.
        abstained: part of the questions without an answer for which nothing was found; 1 if there are none.
        missed: cases of which nothing expected was found, in order.
    """

    k: int
    questions: int
    recall: float
    mrr: float
    ndcg: float
    abstained: float
    missed: tuple[str, ...]


def evaluate_retrieval(
    cases: Sequence[LabelledQuestion], search: Callable[[str], Sequence[str]], *, k: int
) -> RetrievalScores:
    """Ask every question once and score the answers.

    Args:
        cases: at least one that expects something.
        search: returns what it finds, best first, in the terms of `expected`.
        k: how many of the found count, >= 1.

    Raises:
        ValueError: no case expects anything, or k < 1.
    """
    answers = {case.case_id: tuple(search(case.question)) for case in cases}
    asked = [case for case in cases if case.expected]
    if not asked or k < 1:
        raise ValueError(f"need a case that expects something and k >= 1, got {len(asked)} and {k}")
    silent = [not answers[case.case_id] for case in cases if not case.expected]
    recalls = {case.case_id: measure_recall(answers[case.case_id], case.expected, k=k) for case in asked}
    return RetrievalScores(
        k=k,
        questions=len(asked),
        recall=fmean(recalls.values()),
        mrr=fmean(measure_reciprocal_rank(answers[case.case_id], case.expected, k=k) for case in asked),
        ndcg=fmean(measure_ndcg(answers[case.case_id], case.expected, k=k) for case in asked),
        abstained=fmean(silent) if silent else 1.0,
        missed=tuple(case_id for case_id, recall in recalls.items() if recall == 0),
    )

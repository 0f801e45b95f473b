"""Evaluates a model by the fixed cases, before it may be chosen."""

from collections.abc import Callable
from datetime import date

from equerry.domain.evaluations import CASES_VERSION, CaseOutcome, ModelEvaluation
from equerry.evaluation.model_cases import list_cases
from equerry.evaluation.model_playing import play_case
from equerry.ports.model import ModelPort, ModelRejected, ModelUnusable

PLAYS = 3
"""Of each case, because a model does not answer twice the same."""


def _tell_nobody(_outcome: CaseOutcome) -> None:
    """Nobody listens."""


def evaluate_model(
    model: ModelPort,
    *,
    today: date,
    release: str,
    plays: int = PLAYS,
    tell: Callable[[CaseOutcome], None] = _tell_nobody,
) -> ModelEvaluation:
    """Play every case `plays` times and return what was found.

    A request that the provider rejects is a case that is not passed.

    Args:
        plays: at least 1.
        tell: given each outcome as it is known.

    Raises:
        EquerryError: the provider does not answer, or not to this key; nothing was found out.
    """
    outcomes: list[CaseOutcome] = []
    for number, case in enumerate(list_cases()):
        passed = sum(_passes(model, number) for _ in range(plays))
        outcome = CaseOutcome(case=case.name, required=case.required, played=plays, passed=passed)
        outcomes.append(outcome)
        tell(outcome)
    return ModelEvaluation(
        choice=model.choice,
        cases_version=CASES_VERSION,
        evaluated_on=today,
        release=release,
        outcomes=tuple(outcomes),
    )


def _passes(model: ModelPort, number: int) -> bool:
    case = list_cases()[number]
    try:
        return case.judge(play_case(model, case.request))
    except ModelUnusable:
        raise
    except ModelRejected:
        return False

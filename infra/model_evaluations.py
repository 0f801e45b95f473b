"""The models that were found fit to answer: a file each, committed beside the stages that name them."""

import json
from pathlib import Path

from equerry.domain.evaluations import CASES_VERSION, ModelEvaluation, decode_evaluation
from equerry.evaluation.model_cases import list_cases

EVALUATIONS = Path(__file__).parent / "stages" / "evaluations"


def read_evaluations(folder: Path) -> list[ModelEvaluation]:
    """Return what is kept, by provider and model.

    Raises:
        ValueError: a file is no evaluation; the message names it.
    """
    found = [_read(path) for path in folder.glob("*.json")]
    return sorted(found, key=lambda each: (each.choice.provider, each.choice.model))


def find_admitted(folder: Path) -> dict[str, str]:
    """Return the reference of each admitted model's evaluation, by provider/model."""
    required = {case.name for case in list_cases() if case.required}
    return {
        f"{found.choice.provider}/{found.choice.model}": found.reference
        for found in read_evaluations(folder)
        if found.admits and required == {each.case for each in found.outcomes if each.required}
    }


def describe_lack(folder: Path, pair: str) -> str:
    """Return why a pair of provider/model is not admitted, as what is said of it."""
    known = {f"{found.choice.provider}/{found.choice.model}": found for found in read_evaluations(folder)}
    found = known.get(pair)
    if found is None:
        return "has no evaluation"
    failed = [each.case for each in found.outcomes if not each.holds]
    if found.admits or found.cases_version != CASES_VERSION or not failed:
        return f"was evaluated on {found.evaluated_on} with other cases than today's"
    return f"did not pass its evaluation of {found.evaluated_on} ({', '.join(failed)})"


def _read(path: Path) -> ModelEvaluation:
    try:
        return decode_evaluation(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path.name} cannot be read: {error}") from None

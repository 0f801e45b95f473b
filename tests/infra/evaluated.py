"""Evaluations of models that exist in tests alone."""

import json
from datetime import date
from pathlib import Path

from equerry.domain.evaluations import (
    CASES_VERSION,
    CaseOutcome,
    ModelEvaluation,
    encode_evaluation,
    name_file,
)
from equerry.domain.routing import parse_pairs
from equerry.evaluation.model_cases import list_cases


def evaluate(pair: str, *, passed: int = 3, cases_version: int = CASES_VERSION) -> ModelEvaluation:
    """An evaluation in which every case was passed as often."""
    (choice,) = parse_pairs(pair)
    return ModelEvaluation(
        choice=choice,
        cases_version=cases_version,
        evaluated_on=date(2026, 11, 30),
        release="1.0.0",
        outcomes=tuple(
            CaseOutcome(case=case.name, required=case.required, played=3, passed=passed)
            for case in list_cases()
        ),
    )


def keep_evaluations(folder: Path, *evaluations: ModelEvaluation) -> Path:
    """Write them as the command does; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for each in evaluations:
        (folder / name_file(each.choice)).write_text(json.dumps(encode_evaluation(each)))
    return folder

"""What a model was found to do before it was let in."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from equerry.engine.model_choice import ModelChoice
from equerry.kernel.kinds import record, value

CASES_VERSION = 1
"""Of the fixed cases; it grows when they ask for more, and what was found with fewer counts no more."""
LEAST_SHARE = 0.8
"""Of the cases that need not all be passed."""
_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """How often a case was played, and passed; `required` ones must be passed by more than half."""

    case: str
    required: bool
    played: int
    passed: int

    @property
    def holds(self) -> bool:
        """Whether it was passed more often than not."""
        return self.passed * 2 > self.played


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEvaluation:
    """What one model did with the fixed cases on one day.

    Attributes:
        cases_version: which cases.
        release: the code that asked, because requests are the code's.
    """

    choice: ModelChoice
    cases_version: int
    evaluated_on: date
    release: str
    outcomes: tuple[CaseOutcome, ...]

    @property
    def passes(self) -> bool:
        """Whether it may be let in: all that is required and enough of the rest, and never without cases."""
        required = [outcome.holds for outcome in self.outcomes if outcome.required]
        others = [outcome.holds for outcome in self.outcomes if not outcome.required]
        share = sum(others) / len(others) if others else 1.0
        return bool(required) and all(required) and share >= LEAST_SHARE

    @property
    def admits(self) -> bool:
        """Whether it passes the cases of today."""
        return self.cases_version == CASES_VERSION and self.passes

    @property
    def reference(self) -> str:
        """What names this evaluation and changes with anything in it."""
        text = json.dumps(encode_evaluation(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def name_file(choice: ModelChoice) -> str:
    """Return the name of the file that keeps a model's evaluation; different models never share one."""
    pair = f"{choice.provider}/{choice.model}"
    told = _NOT_IN_A_FILE_NAME.sub("_", f"{choice.provider}--{choice.model}")[:80]
    return f"{told}-{hashlib.sha256(pair.encode()).hexdigest()[:8]}.json"


def encode_evaluation(found: ModelEvaluation) -> dict[str, Any]:
    """Return it as JSON."""
    return {
        "provider": found.choice.provider,
        "model": found.choice.model,
        "casesVersion": found.cases_version,
        "evaluatedOn": found.evaluated_on.isoformat(),
        "release": found.release,
        "outcomes": [
            {"case": each.case, "required": each.required, "played": each.played, "passed": each.passed}
            for each in found.outcomes
        ],
    }


def decode_evaluation(kept: Mapping[str, Any]) -> ModelEvaluation:
    """Read what `encode_evaluation` wrote.

    Raises:
        ValueError: it is no evaluation.
    """
    try:
        outcomes = tuple(
            CaseOutcome(
                case=str(each["case"]),
                required=bool(each["required"]),
                played=int(each["played"]),
                passed=int(each["passed"]),
            )
            for each in kept["outcomes"]
        )
        return ModelEvaluation(
            choice=ModelChoice(provider=str(kept["provider"]), model=str(kept["model"])),
            cases_version=int(kept["casesVersion"]),
            evaluated_on=date.fromisoformat(str(kept["evaluatedOn"])),
            release=str(kept["release"]),
            outcomes=outcomes,
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"no evaluation of a model: {type(error).__name__} at {error}") from None

"""What a cold start of the HTTP function loads: enough to take a question, and little else."""

import json
import subprocess
import sys

import pytest

from local.places import ROOT

LATE = (
    "asyncio",
    "aws_lambda_powertools.event_handler",
    "boto3",
    "equerry.admin",
    "equerry.packs",
    "equerry.adapters.aws.artifacts",
    "equerry.adapters.aws.channel",
    "equerry.adapters.aws.uploads",
    "equerry.channel.publisher",
    "equerry.engine.model",
    "equerry.engine.run_loop",
    "equerry.runtime.delivery_parts",
    "equerry.runtime.http_services",
    "equerry.services.conversations",
    "equerry.services.delivery",
    "equerry.services.documents",
    "equerry.services.ending",
    "equerry.services.fast_answers",
    "equerry.services.reading",
    "equerry.services.records",
    "equerry.services.recovery",
    "equerry.surfaces.http.models",
    "equerry.surfaces.http.registry",
)
"""Needed by other requests than a question, or by few questions."""
NEEDED = ("equerry.services.turns", "equerry.surfaces.http.turn_routes", "jwt", "pydantic")
"""Needed by every question, so that the first one does not wait for it."""
MOST = 135
"""Modules of ours; each holds classes, whose making is most of what a start costs."""


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    program = "import json, sys; import equerry.runtime.http; print(json.dumps(list(sys.modules)))"
    path = str(ROOT / "layers/shared/python")
    told = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": path}, capture_output=True, check=True
    )
    return set(json.loads(told.stdout))


@pytest.mark.parametrize("module", LATE)
def test_what_an_acknowledgement_does_not_need_is_loaded_later(loaded: set[str], module: str) -> None:
    assert module not in loaded


@pytest.mark.parametrize("module", NEEDED)
def test_what_it_needs_is_loaded_before_the_first_question(loaded: set[str], module: str) -> None:
    assert module in loaded


def test_few_modules_of_ours_are_loaded(loaded: set[str]) -> None:
    ours = {module for module in loaded if module.partition(".")[0] == "equerry"}

    assert len(ours) <= MOST

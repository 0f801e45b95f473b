"""What a stage takes of the account's concurrency for itself."""

from pathlib import Path

from local.places import ROOT
from tests.infra.stages import SynthesisedStage, synthesise

KEPT_FREE = 100
"""Lambda refuses a reservation that leaves the rest of the account less."""


def list_reserved(stage: SynthesisedStage) -> dict[str, int]:
    found = stage.of_type("AWS::Lambda::Function").values()
    return {
        function["Handler"]: function["ReservedConcurrentExecutions"]
        for function in found
        if "ReservedConcurrentExecutions" in function
    }


def test_the_page_says_what_an_account_must_have(production: SynthesisedStage) -> None:
    reserved = sum(list_reserved(production).values())
    page = (ROOT / "docs/deploy.md").read_text()

    assert f"reserves {reserved} " in page
    assert f"at least {reserved + KEPT_FREE}" in page


def test_a_trial_in_a_new_account_reserves_nothing(tmp_path: Path) -> None:
    trial = tmp_path / "trial.toml"
    trial.write_text(
        "production = false\n[limits]\nreserve_concurrency = false\nhttp_reserved_concurrency = 5"
    )

    assert list_reserved(synthesise("production", overrides=str(trial))) == {}

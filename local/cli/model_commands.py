"""`equerry models check|list`."""

import json
import os
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from local.errors import LocalError
from local.model import KEYS
from local.places import ROOT

if TYPE_CHECKING:
    from equerry.domain.evaluations import CaseOutcome, ModelEvaluation
    from equerry.engine.model_choice import ModelChoice
    from equerry.ports.model import ModelPort

models_app = typer.Typer(
    no_args_is_help=True,
    help="Evaluate a model, without which no stage may name it, and list what was found.",
)
EVALUATIONS = ROOT / "infra" / "stages" / "evaluations"
NOT_ADMITTED = 2

Pair = Annotated[str, typer.Argument(help="provider/model, as a stage's file names it.")]
Folder = Annotated[Path, typer.Option(help="Where evaluations are kept, one file a model.")]


@models_app.command()
def check(
    pair: Pair,
    base_url: Annotated[str | None, typer.Option(help="Of whoever else speaks the provider's wire.")] = None,
    plays: Annotated[int, typer.Option(min=1, help="Of each case.")] = 3,
    folder: Folder = EVALUATIONS,
) -> None:
    """Ask a model the fixed cases and keep what was found; this asks the provider, and costs a few cents."""
    from equerry.evaluation.model_checks import evaluate_model
    from equerry.kernel.errors import EquerryError

    choice = _read_pair(pair)
    model = _open(choice, base_url)
    try:
        found = evaluate_model(
            model, today=datetime.now(UTC).date(), release=_find_release(), plays=plays, tell=_tell
        )
    except EquerryError as failure:
        raise LocalError(f"nothing was found out: {failure}", "see to it and check again") from None
    path = _keep(found, folder)
    typer.echo(f"{pair} {'is admitted' if found.admits else 'is not admitted'}; kept in {path}")
    if not found.admits:
        raise typer.Exit(NOT_ADMITTED)


@models_app.command("list")
def list_models(folder: Folder = EVALUATIONS) -> None:
    """Tell which models were evaluated and whether a stage may name them."""
    from infra.model_evaluations import find_admitted, read_evaluations

    admitted = find_admitted(folder)
    for found in read_evaluations(folder):
        name = f"{found.choice.provider}/{found.choice.model}"
        state = "admitted" if name in admitted else "not admitted"
        typer.echo(f"{name:48}{state:14}{found.evaluated_on}  {found.reference}")


def _read_pair(pair: str) -> "ModelChoice":
    from equerry.domain.routing import parse_pairs

    try:
        (choice,) = parse_pairs(pair)
    except ValueError as error:
        raise LocalError(str(error), "name it as a stage's file would") from None
    return choice


def _open(choice: "ModelChoice", base_url: str | None) -> "ModelPort":
    from equerry.runtime.clock import SystemClock
    from equerry.runtime.models import LIVE, connect_candidate

    if choice.provider not in LIVE:
        raise LocalError(f"{choice.provider!r} is none of {', '.join(LIVE)}", "the others need no evaluation")
    variable = KEYS.get(choice.provider)
    key = os.environ.get(variable) if variable else None
    if variable and not key:
        raise LocalError(f"{variable} is not set", "put the provider's key there")
    return connect_candidate(choice, api_key=key, base_url=base_url, clock=SystemClock())


def _keep(found: "ModelEvaluation", folder: Path) -> Path:
    from equerry.domain.evaluations import encode_evaluation, name_file

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name_file(found.choice)
    path.write_text(json.dumps(encode_evaluation(found), indent=2) + "\n", encoding="utf-8")
    return path


def _find_release() -> str:
    declared = tomllib.loads((ROOT / "layers" / "shared" / "pyproject.toml").read_text(encoding="utf-8"))
    return str(declared["project"]["version"])


def _tell(outcome: "CaseOutcome") -> None:
    mark = "ok" if outcome.holds else "failed" if outcome.required else "weak"
    typer.echo(f"  {outcome.case:40}{outcome.passed} of {outcome.played}  {mark}")

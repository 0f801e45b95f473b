"""`equerry models check|list`."""

import os
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from local.errors import BadInput, LocalError
from local.files import write_json
from local.model import KEYS
from local.places import ROOT

if TYPE_CHECKING:
    from equerry.domain.evaluations import CaseOutcome, ModelEvaluation
    from equerry.engine.model_choice import ModelChoice
    from equerry.kernel.errors import EquerryError
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
    # Before anything is asked: what is asked is paid for.
    _require_writable(folder)
    try:
        found = evaluate_model(
            model, today=datetime.now(UTC).date(), release=_find_release(), plays=plays, tell=_tell
        )
    except EquerryError as failure:
        raise LocalError(f"nothing was found out: {failure}", _advise(choice, failure)) from None
    path = _keep(found, folder)
    typer.echo(f"{pair} {'is admitted' if found.admits else 'is not admitted'}; kept in {path}")
    if not found.admits:
        raise typer.Exit(NOT_ADMITTED)


@models_app.command("list")
def list_models(folder: Folder = EVALUATIONS) -> None:
    """Tell which models were evaluated and whether a stage may name them."""
    from infra.model_evaluations import find_admitted, read_evaluations

    try:
        admitted, evaluations = find_admitted(folder), read_evaluations(folder)
    except (OSError, ValueError) as error:
        raise LocalError(str(error), "remove that file, or bring it back from git, and list again") from None
    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder}", "give the one that `equerry models check` wrote to")
    if not evaluations:
        typer.echo(f"no model was evaluated yet: {folder} holds none; equerry models check PROVIDER/MODEL")
    for found in evaluations:
        name = f"{found.choice.provider}/{found.choice.model}"
        state = "admitted" if name in admitted else "not admitted"
        typer.echo(f"{name:48}{state:14}{found.evaluated_on}  {found.reference}")


def _read_pair(pair: str) -> "ModelChoice":
    from equerry.domain.routing import parse_pairs

    advice = "name it as a stage's file would"
    try:
        choices = parse_pairs(pair)
    except ValueError as error:
        raise LocalError(str(error), advice) from None
    if len(choices) != 1:
        raise LocalError(f"one model is checked at a time, got {len(choices)}", advice)
    return choices[0]


def _open(choice: "ModelChoice", base_url: str | None) -> "ModelPort":
    from botocore.exceptions import NoRegionError
    from equerry.domain.routing import KEYLESS
    from equerry.runtime.clock import SystemClock
    from equerry.runtime.models import LIVE, connect_candidate

    if choice.provider in KEYLESS or choice in KEYLESS.values():
        raise LocalError(f"{choice.provider} answers without a provider", "it needs no evaluation")
    if choice.provider not in LIVE:
        raise LocalError(
            f"there is no provider {choice.provider!r}", f"name one of {', '.join(LIVE)}, as PROVIDER/MODEL"
        )
    variable = KEYS.get(choice.provider)
    key = os.environ.get(variable) if variable else None
    if variable and not key:
        raise LocalError(f"{variable} is not set", "put the provider's key there")
    try:
        return connect_candidate(choice, api_key=key, base_url=base_url, clock=SystemClock())
    except NoRegionError:
        raise LocalError("AWS_DEFAULT_REGION is not set", "put the region there that has the model") from None


def _advise(choice: "ModelChoice", failure: "EquerryError") -> str:
    from equerry.kernel.errors import Unavailable
    from equerry.ports.model import ModelGone

    if isinstance(failure, Unavailable):
        return "check that the provider's address can be reached from here, wait a minute and check again"
    if isinstance(failure, ModelGone):
        return f"look up what {choice.provider} calls the model, and whether this account may use it"
    key = KEYS.get(choice.provider)
    if key is None:
        return f"see that the credentials of AWS in this environment may invoke {choice.model}, in its region"
    return f"see that {key} holds a key that works, and may use {choice.model}"


def _require_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise LocalError(
            f"nothing can be kept in {folder}: {error.strerror}",
            "name a folder that you may write to with --folder; nothing was asked yet",
        ) from None


def _keep(found: "ModelEvaluation", folder: Path) -> Path:
    from equerry.domain.evaluations import encode_evaluation, name_file

    path = folder / name_file(found.choice)
    write_json(path, encode_evaluation(found))
    return path


def _find_release() -> str:
    declared = tomllib.loads((ROOT / "layers" / "shared" / "pyproject.toml").read_text(encoding="utf-8"))
    return str(declared["project"]["version"])


def _tell(outcome: "CaseOutcome") -> None:
    mark = "ok" if outcome.holds else "failed" if outcome.required else "weak"
    typer.echo(f"  {outcome.case:40}{outcome.passed} of {outcome.played}  {mark}")

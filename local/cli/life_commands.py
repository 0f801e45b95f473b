"""`equerry sweep retention` and `equerry erase user`."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import typer

from local.cli.inputs import require_identifier
from local.errors import BadInput, LocalError
from local.places import STAGE, Places

if TYPE_CHECKING:
    from local.cli.life import Keeper

sweep_app = typer.Typer(no_args_is_help=True, help="Remove what is past its time, or an organisation.")
erase_app = typer.Typer(no_args_is_help=True, help="Remove everything of a person.")

Stage = Annotated[
    str | None,
    typer.Option(help="A deployed stage, under your AWS credentials; the local stack if not given."),
]
Region = Annotated[str | None, typer.Option(help="Of the deployed stage; your configuration's if not given.")]


@sweep_app.callback()
def _sweep() -> None:
    """Remove what is past its time, or an organisation."""


@erase_app.callback()
def _erase() -> None:
    """Remove everything of a person."""


@sweep_app.command()
def retention(
    org: Annotated[str | None, typer.Option(help="Only this organisation.")] = None,
    offboard: Annotated[
        str | None, typer.Option(help="Purge this organisation, which the product must call disabled.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="With --offboard: write its redacted export here, to a new file.")
    ] = None,
    stage: Stage = None,
    region: Region = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell scope and windows; count and delete nothing.")
    ] = False,
) -> None:
    """Sweep now what the schedule would sweep, or purge one disabled organisation."""
    from local.cli.life import claim_file

    event = build_sweep(org=org, offboard=offboard, export=export, dry_run=dry_run)
    with nullcontext() if export is None else claim_file(export):
        keeper = open_keeper(stage, region)
        if org is not None and not keeper.keeps(org):
            typer.echo(f"nothing is kept of an organisation {org!r}; check the id", err=True)
        said = keeper.send(event)
        if export is not None:
            keeper.fetch_export(str(said["export"]), export)
    typer.echo(json.dumps(said, indent=2))


@erase_app.command()
def user(
    user_id: Annotated[str, typer.Argument(help="The person's id.")],
    request: Annotated[
        str | None, typer.Option(help="The request it goes by, for the proof; a new one if not given.")
    ] = None,
    stage: Stage = None,
    region: Region = None,
) -> None:
    """Erase a person from every organisation and every store; a second time removes nothing."""
    require_identifier(user_id, what="the person")
    request_id = request or str(uuid4())
    said = open_keeper(stage, region).send({"kind": "erase-user", "userId": user_id, "requestId": request_id})
    typer.echo(json.dumps(said, indent=2))


def build_sweep(
    *, org: str | None, offboard: str | None, export: Path | None, dry_run: bool
) -> dict[str, object]:
    """Return the event of a sweep.

    Raises:
        BadInput: options that contradict each other, or what is no id.
    """
    if export is not None and offboard is None:
        raise BadInput("--export goes with --offboard", "equerry sweep retention --offboard ID --export FILE")
    if offboard is not None and (org is not None or dry_run):
        raise BadInput("--offboard goes with neither --org nor --dry-run")
    if offboard is not None:
        require_identifier(offboard, what="--offboard")
        wanted = {"export": True} if export else {}
        return {"kind": "organisation-disabled", "organisationId": offboard, **wanted}
    event: dict[str, object] = {"kind": "sweep"}
    if org is not None:
        require_identifier(org, what="--org")
        event["organisationId"] = org
    return event | {"dryRun": True} if dry_run else event


def open_keeper(stage: str | None, region: str | None) -> "Keeper":
    """Return the retention function of a deployed stage, or of the local stack.

    Raises:
        LocalError: the stage cannot be seen, or has no such function yet.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    from local.cli.life import Keeper

    name = stage or STAGE
    stacks, functions, objects = _open_clients(stage, region)
    try:
        (found,) = stacks.describe_stacks(StackName=f"Equerry-{name}")["Stacks"]
    except (ClientError, BotoCoreError) as failure:
        raise LocalError(
            f"there is no stage {name!r} to be seen: {failure}",
            "check the credentials, --stage and --region" if stage else "make up",
        ) from failure
    function_name, bucket = read_outputs(found, name)
    return Keeper(functions=functions, objects=objects, function_name=function_name, bucket=bucket)


def read_outputs(found: Mapping[str, Any], stage: str) -> tuple[str, str]:
    """Return the retention function's name and the bucket of a stack as CloudFormation describes it.

    Raises:
        LocalError: it does not have them: its first deployment has not ended, or is of an old version.
    """
    outputs = {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}
    try:
        return outputs["RetentionFunctionName"], outputs["UploadsBucketName"]
    except KeyError as missing:
        raise LocalError(
            f"the stage {stage!r} has no {missing.args[0]} ({found.get('StackStatus', 'in no known state')})",
            "wait until its deployment has ended, and try again",
        ) from None


def _open_clients(stage: str | None, region: str | None) -> tuple[Any, Any, Any]:
    """Return the clients of CloudFormation, Lambda and S3."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    from local.aws import Session
    from local.cli.life import LONGEST_S

    if stage is None:
        local = Session(Places.from_env())
        return local.cloudformation, local.patient_functions(LONGEST_S), local.s3
    patient = Config(read_timeout=LONGEST_S, retries={"total_max_attempts": 1})
    try:
        session = boto3.Session(region_name=region)
        return (
            session.client("cloudformation"),
            session.client("lambda", config=patient),
            session.client("s3"),
        )
    except BotoCoreError as failure:
        raise LocalError(f"AWS cannot be asked: {failure}", "give --region, or set AWS_REGION") from None

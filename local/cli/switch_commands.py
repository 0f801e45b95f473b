"""`equerry switch off|on|status`."""

from typing import TYPE_CHECKING, Annotated

import typer

from local.errors import LocalError
from local.places import STAGE, Places

if TYPE_CHECKING:
    from local.cli.switching import Switchboard

switch_app = typer.Typer(
    no_args_is_help=True,
    help="Stop a tool, a pack, a model, a profile, an organisation, or everything, within 30 seconds.",
)

Level = Annotated[str, typer.Argument(help="platform, tenant, surface, pack, tool or model.")]
Name = Annotated[str | None, typer.Argument(help="Of what is stopped alone; the platform has none.")]
Stage = Annotated[
    str | None,
    typer.Option(help="A deployed stage, under your AWS credentials; the local stack if not given."),
]
Region = Annotated[str | None, typer.Option(help="Of the deployed stage; your configuration's if not given.")]


@switch_app.command()
def off(
    level: Level,
    name: Name = None,
    stage: Stage = None,
    region: Region = None,
    *,
    unknown: Annotated[bool, typer.Option(help="Also a tool or pack this version does not have.")] = False,
) -> None:
    """Turn something off; it stays off until somebody turns it on."""
    open_switchboard(stage, region).turn(level, name, on=False, unknown=unknown)
    typer.echo(f"{_say(level, name)} is off, everywhere within 30 seconds")


@switch_app.command()
def on(level: Level, name: Name = None, stage: Stage = None, region: Region = None) -> None:
    """Turn something on again."""
    open_switchboard(stage, region).turn(level, name, on=True)
    typer.echo(f"{_say(level, name)} is on, everywhere within 30 seconds")


@switch_app.command()
def status(stage: Stage = None, region: Region = None) -> None:
    """Tell what every level says."""
    for level, state in open_switchboard(stage, region).list_states().items():
        typer.echo(f"{level:10}{state}")


def open_switchboard(stage: str | None, region: str | None) -> "Switchboard":
    """Return the switches of a deployed stage, or of the local stack."""
    import boto3
    from botocore.exceptions import BotoCoreError

    from local.aws import Session
    from local.cli.switching import Switchboard

    if stage is None:
        return Switchboard(Session(Places.from_env()).ssm, STAGE)
    try:
        return Switchboard(boto3.Session(region_name=region).client("ssm"), stage)
    except BotoCoreError as failure:
        raise LocalError(f"AWS cannot be asked: {failure}", "give --region, or set AWS_REGION") from None


def _say(level: str, name: str | None) -> str:
    return level if name is None else f"{level} {name}"

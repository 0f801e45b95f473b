"""`equerry local up|down|status|projects`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from local.cli.inputs import require_identifier
from local.memberships import open_memberships
from local.places import Places
from local.progress import Progress

if TYPE_CHECKING:
    from local.stack import Stack

stack_app = typer.Typer(no_args_is_help=True, help="The whole system on this machine.")


def build_stack() -> "Stack":
    """Return the stack that the environment describes, with progress on stderr."""
    from local.stack import Stack  # brings the AWS SDK, which `ask` and `index` do without

    places = Places.from_env()
    return Stack(places, Progress(places.state / "timings.json"))


@stack_app.command()
def up() -> None:
    """Start the stack and deploy what has changed; returns when it is ready."""
    stack = build_stack()
    stack.up()
    typer.echo(f"chat page   {stack.places.chat_url}")
    typer.echo(f"endpoints   {stack.places.endpoints}")


@stack_app.command()
def demo() -> None:
    """Start the stack, index sample documents, ask a question, and wait for Ctrl-C."""
    from local.demo import run_demo

    stack = build_stack()
    run_demo(stack, stack.progress)


@stack_app.command()
def down() -> None:
    """Stop everything; documents and conversations are kept."""
    stopped = build_stack().down()
    typer.echo("stopped" if stopped else "nothing was running")


@stack_app.command()
def clean() -> None:
    """Stop everything and forget all state."""
    stack = build_stack()
    stack.clean()
    typer.echo(f"removed {stack.places.state}")


@stack_app.command()
def status() -> None:
    """Tell which parts run; exit code 1 unless all do."""
    stack = build_stack()
    said = stack.describe()
    if said is None:
        typer.echo("the stack is not running; start it with `make up`")
        raise typer.Exit(1)
    table = Table("part", "state", "port", "process", box=None)
    for part in said["parts"]:
        table.add_row(part["name"], part["state"], str(part["port"]), str(part["pid"] or ""))
    Console(highlight=False).print(table)
    if said["state"] != "running":
        failure, _, remedy = str(said["failure"] or "").partition("\n")
        typer.echo(f"{said['state']}: {failure}" if failure else said["state"], err=True)
        if remedy:
            typer.echo(f"  → {remedy}", err=True)
        raise typer.Exit(1)
    typer.echo(f"chat page   {stack.places.chat_url}")


@stack_app.command()
def projects(
    user: Annotated[str, typer.Argument(help="The user's id; anybody you sign tokens for.")],
    org: Annotated[str, typer.Option(help="The organisation's id.")],
    join: Annotated[list[str] | None, typer.Option(help="A project they belong to now (repeatable).")] = None,
    leave: Annotated[
        list[str] | None, typer.Option(help="One they belong to no more (repeatable); gone within seconds.")
    ] = None,
) -> None:
    """Change somebody's projects in the local directory, and list them, one a line."""
    require_identifier(user, what="the user")
    require_identifier(org, what="--org")
    changes = {
        name: [require_identifier(each, what=f"--{name}") for each in given or ()]
        for name, given in (("join", join), ("leave", leave))
    }
    memberships = open_memberships(Places.from_env())
    if any(changes.values()):
        found = memberships.change_projects(org, user, **changes)
    else:
        found = memberships.find_projects(org, user) or ()
    for project in found:
        typer.echo(project)

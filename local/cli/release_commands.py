"""`equerry release verify`."""

from typing import Annotated

import httpx
import typer

from local.cli.api import PREFIX
from local.cli.inputs import require_url
from local.cli.releasing import Release, await_release
from local.errors import BadInput
from local.telling import Teller

release_app = typer.Typer(no_args_is_help=True, help="Prove what runs.")


@release_app.callback()
def _main() -> None:
    """Prove what runs."""


@release_app.command()
def verify(
    url: Annotated[str, typer.Option(help="The deployment's address, as its users reach it.")],
    commit: Annotated[str | None, typer.Option(help="What it was built from, 12 characters.")] = None,
    version: Annotated[str | None, typer.Option(help="Of the code.")] = None,
    lambda_version: Annotated[str | None, typer.Option(help="The number the alias points at.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to ask for.")] = 120,
) -> None:
    """Ask /version until it tells of this release, three times in a row; exit code 1 if it never does."""
    if commit is None and version is None and lambda_version is None:
        raise BadInput("there is nothing to verify", "give --commit, --version or --lambda-version")
    release = Release(commit=commit, version=version, lambda_version=lambda_version)
    address = require_url(url).rstrip("/").removesuffix(PREFIX) + f"{PREFIX}/version"
    with httpx.Client(timeout=10, headers={"cache-control": "no-cache"}) as client:
        teller = Teller(write=lambda line: typer.echo(f"waiting: {line}", err=True))
        said = await_release(lambda: client.get(address), release, timeout_s=timeout, tell=teller)
    typer.echo(f"{said['version']} {said['commit']} as version {said['lambdaVersion']}")

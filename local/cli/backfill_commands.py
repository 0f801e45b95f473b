"""`equerry backfill projects`."""

import json
import os
from typing import Annotated

import typer

from local.errors import BadInput, LocalError

ASSISTANT, PRODUCT = "MIGRATION_DATABASE_URL", "GLOBAL_MIGRATION_DATABASE_URL"
QUERY = "SELECT organisation_id, id FROM projects"

backfill_app = typer.Typer(no_args_is_help=True, help="Bring rows from before a change up to it.")


@backfill_app.callback()
def _main() -> None:
    """Leave `projects` a command of its own, of however many there are."""


@backfill_app.command()
def projects(
    query: Annotated[
        str,
        typer.Option(
            help="What lists organisation and project ids in the product's database, a row a project."
        ),
    ] = QUERY,
    *,
    no_projects: Annotated[
        bool, typer.Option("--no-projects", help="The product has none: open what is old to its creator.")
    ] = False,
) -> None:
    """Give conversations from before project membership all projects of their organisation.

    Connects with MIGRATION_DATABASE_URL and GLOBAL_MIGRATION_DATABASE_URL, both past row-level security.
    """
    import psycopg
    from equerry.adapters.postgres.backfill import (
        NoProjects,
        UnusableQuery,
        WeakConnection,
        backfill_projects,
    )

    assistant_url, product_url = _read_url(ASSISTANT), _read_url(PRODUCT)
    try:
        with (
            psycopg.connect(assistant_url, autocommit=True) as assistant,
            psycopg.connect(product_url, autocommit=True) as product,
        ):
            done = backfill_projects(
                assistant,
                product,
                query=query,
                expects_projects=not no_projects,
                report=lambda told: typer.echo(f"{told} conversations", err=True),
            )
    except (WeakConnection, UnusableQuery) as refused:
        raise LocalError(str(refused), "nothing was changed") from refused
    except NoProjects as none:
        raise LocalError(str(none), "--query, or --no-projects if it is so; nothing was changed") from none
    except psycopg.Error as failure:
        raise LocalError(
            f"a database failed: {failure}", "run it again: it goes on where it stopped"
        ) from failure
    summary = {"organisations": done.organisations, "conversationsBackfilled": done.conversations}
    typer.echo(json.dumps(summary))


def _read_url(name: str) -> str:
    url = os.environ.get(name, "").strip()
    if not url:
        raise BadInput(f"{name} is not set", "export both addresses: docs/projects.md#what-is-older")
    return url

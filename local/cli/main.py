"""`equerry`: runs the local stack, indexes folders and asks questions, here or against a deployment."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from typer.core import TyperGroup

from local.cli.api import Api, find_target
from local.cli.asking import GOOD_ENDS, Asker
from local.cli.backfill_commands import backfill_app
from local.cli.indexing import Indexer, Outcome
from local.cli.inputs import (
    require_conversation,
    require_corpus,
    require_identifier,
    require_question,
    require_text,
)
from local.cli.life_commands import erase_app, sweep_app
from local.cli.model_commands import models_app
from local.cli.release_commands import release_app
from local.cli.run_commands import run_app
from local.cli.stack_commands import stack_app
from local.cli.switch_commands import switch_app
from local.cli.walking import Walk, walk
from local.errors import LocalError
from local.memberships import open_memberships
from local.places import Places
from local.telling import Teller
from local.tokens import Person, Role, build_mint

INTERRUPTED = 130
CORPUS = "docs"


class _Group(TyperGroup):
    """Tells a foreseen failure in one line, with what to do; anything else is a bug and shows itself."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except LocalError as error:
            typer.secho(f"equerry: {error}", fg="red", err=True)
            if error.remedy:
                typer.echo(f"  → {error.remedy}", err=True)
            raise typer.Exit(error.exit_code) from None


app = typer.Typer(cls=_Group, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
app.add_typer(stack_app, name="local")
app.add_typer(switch_app, name="switch")
app.add_typer(release_app, name="release")
app.add_typer(run_app, name="run")
app.add_typer(sweep_app, name="sweep")
app.add_typer(erase_app, name="erase")
app.add_typer(backfill_app, name="backfill")
app.add_typer(models_app, name="models")

UserOption = Annotated[
    str | None, typer.Option(help="A demo user of the local stack (local/users.toml); ada if not given.")
]


@app.callback()
def _main() -> None:
    """Answers from your documents, with sources.

    Works on the local stack (`make up`); set EQUERRY_URL and EQUERRY_TOKEN for any other deployment.
    """


@app.command("index")
def index_folder(
    path: Annotated[Path, typer.Argument(help="A folder, or one file.")],
    corpus: Annotated[str, typer.Option(help="The corpus it goes into; made on first use.")] = CORPUS,
    visible_to: Annotated[
        list[str] | None,
        typer.Option(help="Who may see it (repeatable); everybody in the organisation by default."),
    ] = None,
    user: UserOption = None,
    *,
    prune: Annotated[
        bool, typer.Option(help="Remove documents that are not in the folder any more.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name every file.")] = False,
) -> None:
    """Index a folder of Markdown, HTML, text and PDF files."""
    require_corpus(corpus)
    audience = tuple(require_text(who, what="--visible-to") for who in visible_to or ())
    found = walk(path)
    with Api(find_target(user)) as api, _bar() as bar:
        task = bar.add_task("indexing", total=None)
        teller = Teller(write=lambda line: typer.echo(line, err=True))

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)
            if bar.disable:
                teller(f"indexing: {done} of {total}")

        indexer = Indexer(
            api=api,
            corpus=corpus,
            visible_to=audience,
            tell=tell,
        )
        outcome = indexer.index(found.sources, prune=prune, keep=(*found.empty, *found.unreadable))
    outcome.failed |= found.unreadable
    _report(outcome, found, verbose=verbose)
    if outcome.failed:
        raise typer.Exit(1)


@app.command()
def ask(
    question: str,
    user: UserOption = None,
    conversation: Annotated[str | None, typer.Option(help="Continue this conversation.")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the run as JSON.")] = False,
) -> None:
    """Ask a question; the answer is written as it comes, then its sources."""
    require_question(question)
    continued = None if conversation is None else require_conversation(conversation)
    with Api(find_target(user)) as api:
        asker = Asker(api=api, status=sys.stderr, answer=sys.stdout, quiet=as_json)
        asker.warn_without_documents()
        try:
            run = asker.ask(question, continued)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
    if as_json:
        typer.echo(json.dumps(run, ensure_ascii=False, indent=2))
    if run["stopReason"] not in GOOD_ENDS:
        raise typer.Exit(1)


@app.command()
def token(
    user: Annotated[str, typer.Option(help="The user's id.")],
    org: Annotated[str, typer.Option(help="The organisation's id.")],
    role: Annotated[str, typer.Option(help="member or admin.")] = "member",
    project: Annotated[
        list[str] | None,
        typer.Option(
            help="A project they join in the local directory (repeatable); `local projects` ends it."
        ),
    ] = None,
) -> None:
    """Sign a token for the local stack, for anybody in any organisation (12 hours)."""
    places = Places.from_env()
    if project:
        joined = [require_identifier(each, what="--project") for each in project]
        open_memberships(places).change_projects(
            require_identifier(org, what="--org"), require_identifier(user, what="--user"), join=joined
        )
    person = Person(user_id=user, organisation_id=org, role=_parse_role(role), name=user)
    typer.echo(build_mint(places).sign(person)[0])


def _parse_role(text: str) -> Role:
    if text == "member":
        return "member"
    if text == "admin":
        return "admin"
    raise typer.BadParameter(f"must be member or admin, got {text!r}", param_hint="--role")


def _bar() -> Bar:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Bar(*columns, console=console, disable=not console.is_terminal)


def _report(outcome: Outcome, found: Walk, *, verbose: bool) -> None:
    if verbose:
        for word, paths in (
            ("new", outcome.new),
            ("changed", outcome.changed),
            ("unsupported", found.unsupported),
            ("link", found.links),
        ):
            for path in paths:
                typer.echo(f"{word:12} {path}")
    for path in found.empty:
        typer.echo(f"empty        {path}", err=True)
    for path, reason in outcome.failed.items():
        typer.secho(f"failed       {path}: {reason}", fg="red", err=True)
    counts = {
        "new": len(outcome.new),
        "changed": len(outcome.changed),
        "unchanged": len(outcome.unchanged),
        "removed": len(outcome.pruned),
        "failed": len(outcome.failed),
        "empty": len(found.empty),
        "unsupported": len(found.unsupported),
        "links not followed": len(found.links),
    }
    typer.echo(
        ", ".join(f"{count} {word}" for word, count in counts.items() if count or word in ("new", "failed"))
    )
    if (found.unsupported or found.links) and not verbose:
        typer.echo("unsupported files and links out of the folder were passed over; -v names them", err=True)


def run() -> None:
    """Run the command line, as `python -m local.cli.main` does."""
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    app()


if __name__ == "__main__":
    run()

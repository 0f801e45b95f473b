"""`equerry run show|export`."""

import json
from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

import typer

from local.cli.api import Api, find_target
from local.cli.explaining import write_timeline
from local.errors import BadInput

run_app = typer.Typer(no_args_is_help=True, help="What happened in a turn.")

UserOption = Annotated[
    str | None,
    typer.Option(help="A demo user of the local stack, ada if not given; an administrator sees all."),
]


@run_app.command()
def show(
    run_id: Annotated[str, typer.Argument(help="The run's id, as an answer or a log line has it.")],
    user: UserOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Print how one run went, without what was said; an administrator's look is audited."""
    with Api(find_target(user)) as api:
        record = api.get(f"/runs/{_require_run(run_id)}/record")
    typer.echo(json.dumps(record, ensure_ascii=False, indent=2) if as_json else write_timeline(record))


@run_app.command()
def export(
    user: UserOption = None,
    since: Annotated[str | None, typer.Option("--from", help="ISO 8601 with offset, inclusive.")] = None,
    before: Annotated[str | None, typer.Option("--to", help="ISO 8601 with offset, exclusive.")] = None,
    profile: Annotated[str | None, typer.Option(help="Only runs of this profile.")] = None,
    run: Annotated[list[str] | None, typer.Option(help="Only this run (repeatable, up to 50).")] = None,
) -> None:
    """Print an incident's records, one JSON object a line, newest first; needs an administrator."""
    wanted = {"from": since, "to": before, "profile": profile}
    query = {name: text for name, text in wanted.items() if text}
    if run:
        query["runIds"] = ",".join(_require_run(text) for text in run)
    with Api(find_target(user)) as api:
        for record in list_records(api, query):
            typer.echo(json.dumps(record, ensure_ascii=False))


def list_records(api: Api, query: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the records that the query asks for, page by page."""
    page = api.get("/run-records", limit=100, **query)
    while page["records"]:
        yield from page["records"]
        if page["cursor"] is None:
            return
        page = api.get("/run-records", limit=100, cursor=page["cursor"], **query)


def _require_run(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise BadInput(
            f"{text!a} is no id of a run", "give the runId that an answer or a log line has"
        ) from None

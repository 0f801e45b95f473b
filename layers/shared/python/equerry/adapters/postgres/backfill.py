"""Tells conversations that are older than project membership of all their organisation's projects."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from equerry.kernel.kinds import result

if TYPE_CHECKING:
    from uuid import UUID

    from psycopg import Connection

    Session = Connection[tuple[Any, ...]]

BATCH: Final = 500
"""Conversations of one transaction: few enough that nobody waits for their locks."""
_IS_STRONG = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
_NEXT = """
SELECT conversation_id, organisation_id FROM assistant_conversations
WHERE NOT project_scope_known AND (%(after)s::uuid IS NULL OR conversation_id > %(after)s)
ORDER BY conversation_id LIMIT %(limit)s FOR UPDATE
"""
_TELL = """
UPDATE assistant_conversations SET project_ids = %s, project_scope_known = true
WHERE conversation_id = ANY (%s) AND NOT project_scope_known
"""
# Null where there is nothing old.
_KNOWS_ANY = """
SELECT bool_or(organisation_id = ANY (%s)) FROM assistant_conversations WHERE NOT project_scope_known
"""
_ID = re.compile(r"[\w.@|:+=~-]{1,128}", re.ASCII)
"""As a token's and a directory's ids are: any other would close a conversation for good."""


class WeakConnection(Exception):
    """A connection is of a role that row-level security holds for; nothing was changed."""


class NoProjects(Exception):
    """The product's database lists no project of anybody who has anything old; nothing was changed."""


class UnusableQuery(Exception):
    """What the query lists is no organisation's id and a project's; nothing was changed."""


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """What one run did: whose conversations it told, and how many."""

    organisations: int
    conversations: int


def backfill_projects(
    assistant: "Session",
    product: "Session",
    *,
    query: str,
    expects_projects: bool = True,
    batch_size: int = BATCH,
    report: Callable[[int], None] = lambda _told: None,
) -> Backfilled:
    """Give each conversation that knows none its organisation's projects; safe to stop, and to repeat.

    Args:
        assistant, product: open connections in autocommit, past row-level security both.
        query: of the product's database; an organisation's id and a project's, one row a project.
        batch_size: conversations of one transaction, >= 1.
        expects_projects: False where the product has none, and all that is old may be opened.
        report: told after each batch how many there are so far.

    Raises:
        WeakConnection, NoProjects, UnusableQuery: see there.
    """
    for name, session in (("assistant", assistant), ("product", product)):
        _require_strong(name, session)
    projects = _list_projects(product, query)
    if expects_projects and not projects:
        raise NoProjects("the product's database lists no project; is the query the right one?")
    if expects_projects and not _knows_any(assistant, projects):
        raise NoProjects("the query lists projects, but of no organisation with old conversations")
    organisations: set[str] = set()
    told, after = 0, None
    while batch := _tell_batch(assistant, projects, after, batch_size):
        organisations.update(organisation for _, organisation in batch)
        told, after = told + len(batch), batch[-1][0]
        report(told)
    return Backfilled(organisations=len(organisations), conversations=told)


def _require_strong(name: str, session: "Session") -> None:
    row = session.execute(_IS_STRONG).fetchone()
    if row is None or not row[0]:
        raise WeakConnection(
            f"the connection to the {name} database needs a superuser, or a role with BYPASSRLS"
        )


def _list_projects(product: "Session", query: str) -> Mapping[str, list[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    with product.transaction():
        product.execute("SET TRANSACTION READ ONLY")
        # Prepared, it can be one statement alone: a second one could end the transaction and write.
        for row in product.execute(query.encode(), prepare=True):
            organisation, project = _read_ids(row)
            found[organisation].add(project)
    return {organisation: sorted(ids) for organisation, ids in found.items()}


def _read_ids(row: Sequence[object]) -> tuple[str, str]:
    ids = [str(each) for each in row if each is not None]
    if len(row) != 2 or len(ids) != 2 or not all(_ID.fullmatch(each) for each in ids):
        raise UnusableQuery("the query must list an organisation's id and a project's, a row a project")
    return ids[0], ids[1]


def _knows_any(assistant: "Session", projects: Mapping[str, list[str]]) -> bool:
    """Whether some organisation with old conversations is known; vacuously so where nothing is old."""
    row = assistant.execute(_KNOWS_ANY, (list(projects),)).fetchone()
    return row is None or row[0] is not False


def _tell_batch(
    assistant: "Session", projects: Mapping[str, list[str]], after: "UUID | None", limit: int
) -> Sequence[tuple["UUID", str]]:
    with assistant.transaction():
        batch = assistant.execute(_NEXT, {"after": after, "limit": limit}).fetchall()
        of_whom: defaultdict[str, list[UUID]] = defaultdict(list)
        for conversation_id, organisation in batch:
            of_whom[organisation].append(conversation_id)
        for organisation, ids in of_whom.items():
            assistant.execute(_TELL, (projects.get(organisation, []), ids))
    return [(conversation_id, organisation) for conversation_id, organisation in batch]

"""Rows that go, and in the same statement a note of what they leave in other stores."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from equerry.domain.retention import DELETION_LATE, STILL_AT_WORK

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

_NOTE: Final = "INSERT INTO assistant_disposals (kind, organisation_id, user_id, thing_id, due_at)"
_LATER: Final = "coalesce(%(again)s::timestamptz, now() + %(at_work)s)"
# A worker may still write for a run that is under way, and for one that was ended in its stead a moment ago.
# Such a run is noted for later as well, and so is its conversation.
_RUNS: Final = f"""
SELECT 'run', organisation_id, created_by, run_id::text, now() FROM {{runs}}
UNION ALL
SELECT late.kind, organisation_id, created_by, late.thing_id, {_LATER}
FROM {{runs}}, LATERAL (VALUES ('run', run_id::text), ('conversation', conversation_id::text))
    AS late (kind, thing_id)
WHERE status <> 'ended' OR ended_at > {_LATER} - 2 * %(at_work)s
"""  # noqa: S608  # our names
_CONVERSATIONS: Final = """
SELECT 'conversation', organisation_id, created_by, conversation_id::text, now() FROM {conversations}
"""
# Whoever announced a file may still send it, for as long as the signed address holds.
_DOCUMENTS: Final = f"""
SELECT 'document', organisation_id, %(whose)s, corpus_id || '/' || document_id, moment.due
FROM {{documents}}, LATERAL (VALUES (now()), ({_LATER})) AS moment (due)
"""  # noqa: S608  # our names
# Which go is asked again where they are deleted: one that was touched in between must stay.
_REMOVE_CONVERSATIONS: Final = f"""
WITH old AS MATERIALIZED (
    SELECT conversation_id FROM assistant_conversations WHERE {{going}} LIMIT %(limit)s
), gone AS (
    DELETE FROM assistant_conversations
    WHERE conversation_id IN (SELECT conversation_id FROM old) AND {{still}}
    RETURNING conversation_id, organisation_id, created_by
), begun AS (
    SELECT run.run_id, run.conversation_id, run.organisation_id, run.created_by, run.status, run.ended_at
    FROM assistant_runs AS run JOIN gone USING (conversation_id)
    WHERE run.created_at > now() - %(late)s OR run.status <> 'ended'
), noted AS (
    {_NOTE} {_CONVERSATIONS.format(conversations="gone")} UNION ALL {_RUNS.format(runs="begun")}
)
SELECT count(*) AS removed FROM gone
"""  # noqa: S608  # our names
_DELETE_NOTED: Final = f"""
WITH gone AS ({{delete}} RETURNING *), noted AS ({_NOTE} {{notes}}) SELECT count(*) AS removed FROM gone
"""  # noqa: S608  # our names
_NOTES: Final[Mapping[str, str]] = {
    "assistant_runs": _RUNS.format(runs="gone"),
    "assistant_conversations": _CONVERSATIONS.format(conversations="gone"),
    "assistant_documents": _DOCUMENTS.format(documents="gone"),
}


def remove_conversations(rows: "Rows", *, going: str, still: str, values: Mapping[str, object]) -> int:
    """Remove conversations with all that hangs on them; says how many.

    Args:
        rows: of the platform role.
        going: which conversations; a condition, and the order if some are to go before others.
        still: what must hold of each when it is deleted.
        values: of the conditions, and `limit`.
    """
    written = _REMOVE_CONVERSATIONS.format(going=going, still=still)
    return _count(rows, written, {**_late(None), "late": DELETION_LATE, **values})


def delete_noted(
    rows: "Rows", table: str, delete: str, values: Mapping[str, object], *, again_at: datetime | None = None
) -> int:
    """Run a deletion of a table's, noting what its rows leave elsewhere, if they do; says how many went.

    Args:
        rows: of the platform role.
        table: whose rows go.
        delete: the statement, without RETURNING.
        values: of the statement; for documents also `whose` they were.
        again_at: when to look again for what is still written; after as long as a worker lives unless given.
    """
    if table in _NOTES:
        written = _DELETE_NOTED.format(delete=delete, notes=_NOTES[table])
        return _count(rows, written, {**_late(again_at), **values})
    return rows.execute(delete, values).rowcount


def _late(again_at: datetime | None) -> dict[str, object]:
    return {"again": again_at, "at_work": STILL_AT_WORK}


def _count(rows: "Rows", statement: str, values: Mapping[str, object]) -> int:
    (row,) = rows.execute(statement, values).fetchall()
    return int(row["removed"])

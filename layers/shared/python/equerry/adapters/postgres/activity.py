"""The audit of what assistants did in PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.identifiers import as_uuid
from equerry.domain.activity import (
    READ_RECORD,
    ActivityFilter,
    ActivityPlace,
    ActivityRow,
    DraftRecord,
    Fatigue,
    draft_action,
)
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import RunId, ToolCallId, UserId

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

# Rows from before there were three outcomes have only `ok`.
# A condition whose parameter is null lets everything through.
_LIST = """
SELECT run_id, call_id, position, created_by, tool, arguments,
    coalesce(outcome, CASE ok WHEN true THEN 'ok' WHEN false THEN 'error' END) AS outcome, result_summary,
    duration_ms, target, operation, applied_record, edited, created_at
FROM assistant_actions
WHERE (%(tool)s::text IS NULL OR tool = %(tool)s)
  AND (%(exclude_tool)s::text IS NULL OR tool <> %(exclude_tool)s)
  AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
  AND (%(before)s::timestamptz IS NULL OR created_at < %(before)s)
  AND (%(outcome)s::text IS NULL
       OR coalesce(outcome, CASE ok WHEN true THEN 'ok' WHEN false THEN 'error' END) = %(outcome)s)
  AND (%(at)s::timestamptz IS NULL OR (created_at, run_id, position) < (%(at)s, %(run_id)s, %(position)s))
ORDER BY created_at DESC, run_id DESC, position DESC
LIMIT %(limit)s
"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
# What happens to a run after its tool calls stands behind them, each kind apart: its creator does not see
# what administrators add.
_DRAFTS_FROM, _READS_FROM, _KINDS_APART = 1_000_000, 2_000_000, 1_000_000
_PLACE = """
WITH place AS (
    SELECT coalesce(max(position) + 1, %(first)s) AS next FROM assistant_actions
    WHERE run_id = %(run_id)s AND position >= %(first)s AND position < %(first)s + %(apart)s
)
INSERT INTO assistant_actions
    (run_id, call_id, conversation_id, organisation_id, created_by, position, tool, arguments, outcome,
     target, operation, applied_record, edited, created_at)
"""
_DRAFT = """
SELECT %(run_id)s, %(draft_id)s, %(conversation_id)s, %(organisation)s, %(user)s, place.next, %(tool)s,
    '{}'::jsonb, %(outcome)s, %(target)s, %(operation)s, %(applied_record)s, %(edited)s::boolean,
    %(at)s::timestamptz
FROM place
WHERE NOT EXISTS (
    SELECT FROM assistant_actions WHERE run_id = %(run_id)s AND call_id = %(draft_id)s AND tool = %(tool)s
)
"""
# Which run, and not whose: an administrator's deed outlives the person whose record it was.
_READ = """
SELECT record.run_id, %(tool)s, record.conversation_id, record.organisation_id, %(user)s, place.next,
    %(tool)s, '{}'::jsonb, 'ok', null, null, null, null, %(at)s::timestamptz
FROM place, assistant_run_records AS record
WHERE record.run_id = %(run_id)s
"""
# The tool's name stands here as it does in the partial index.
_FATIGUE = """
SELECT count(*) AS accepted, count(*) FILTER (WHERE edited IS FALSE) AS unedited
FROM assistant_actions
WHERE organisation_id = %s AND tool = 'draft_accepted' AND created_at >= %s
"""


@dataclass(frozen=True, slots=True)
class PostgresActivityAdapter:
    """ActivityPort."""

    connections: PostgresConnections

    def list_activity(
        self, scope: Scope, wanted: ActivityFilter, *, after: ActivityPlace | None, limit: int
    ) -> tuple[ActivityRow, ...]:
        """See ActivityPort."""
        values = {
            "tool": wanted.tool,
            "exclude_tool": wanted.exclude_tool,
            "since": wanted.since,
            "before": wanted.before,
            "outcome": wanted.outcome,
            "at": after.at if after else None,
            "run_id": as_uuid(after.run_id, name="run") if after else None,
            "position": after.position if after else None,
            "limit": limit,
        }
        with self.connections.transaction(scope) as rows:
            return tuple(_read_row(row) for row in rows.execute(_LIST, values).fetchall())

    def record_draft(self, scope: Scope, draft: DraftRecord) -> None:
        """See ActivityPort."""
        values = {
            "first": _DRAFTS_FROM,
            "apart": _KINDS_APART,
            "run_id": as_uuid(draft.run_id, name="run"),
            "conversation_id": as_uuid(draft.conversation_id, name="conversation"),
            "draft_id": draft.draft_id,
            "organisation": scope.organisation_id,
            "user": scope.user_id,
            "tool": draft_action(draft.stage),
            "outcome": draft.outcome,
            "target": draft.target,
            "operation": draft.operation,
            "applied_record": draft.applied_record,
            "edited": draft.edited,
            "at": draft.at,
        }
        with self.connections.transaction(scope) as rows:
            _take_place(rows, draft.run_id)
            rows.execute(_PLACE + _DRAFT, values)

    def record_reads(self, scope: Scope, run_ids: Sequence[RunId], *, at: datetime) -> None:
        """See ActivityPort."""
        with self.connections.transaction(scope) as rows:
            # In one order, so that two readers of the same runs cannot wait for each other.
            for run_id in sorted(set(run_ids)):
                _take_place(rows, run_id)
                values = {"first": _READS_FROM, "apart": _KINDS_APART, "run_id": as_uuid(run_id, name="run")}
                rows.execute(_PLACE + _READ, {**values, "tool": READ_RECORD, "user": scope.user_id, "at": at})

    def fetch_fatigue(self, scope: Scope, *, since: datetime) -> Fatigue:
        """See ActivityPort."""
        with self.connections.transaction(scope) as rows:
            (row,) = rows.execute(_FATIGUE, (scope.organisation_id, since)).fetchall()
            return Fatigue(accepted=row["accepted"], unedited=row["unedited"])


def _take_place(rows: "Rows", run_id: RunId) -> None:
    rows.execute(_LOCK, (run_id,))


def _read_row(row: dict[str, Any]) -> ActivityRow:
    same = (
        *("position", "tool", "arguments", "outcome", "duration_ms", "target", "operation", "applied_record"),
        "edited",
    )
    return ActivityRow(
        run_id=RunId(str(row["run_id"])),
        call_id=ToolCallId(row["call_id"]),
        user_id=UserId(row["created_by"]),
        result=row["result_summary"],
        at=row["created_at"],
        **{name: row[name] for name in same},
    )

"""The audit of tool calls in PostgreSQL."""

from dataclasses import dataclass
from typing import Any

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.identifiers import as_uuid
from equerry.domain.activity import ActivityFilter, ActivityPlace, ActivityRow
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import RunId, ToolCallId, UserId

# A condition whose parameter is null lets everything through.
_LIST = """
SELECT run_id, call_id, position, created_by, tool, arguments, ok, summary, duration_ms, created_at
FROM assistant_actions
WHERE (%(tool)s::text IS NULL OR tool = %(tool)s)
  AND (%(exclude_tool)s::text IS NULL OR tool <> %(exclude_tool)s)
  AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
  AND (%(before)s::timestamptz IS NULL OR created_at < %(before)s)
  AND (%(ok)s::boolean IS NULL OR ok = %(ok)s)
  AND (%(at)s::timestamptz IS NULL OR (created_at, run_id, position) < (%(at)s, %(run_id)s, %(position)s))
ORDER BY created_at DESC, run_id DESC, position DESC
LIMIT %(limit)s
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
            "ok": None if wanted.outcome is None else wanted.outcome == "ok",
            "at": after.at if after else None,
            "run_id": as_uuid(after.run_id, name="run") if after else None,
            "position": after.position if after else None,
            "limit": limit,
        }
        with self.connections.transaction(scope) as rows:
            return tuple(_read_row(row) for row in rows.execute(_LIST, values).fetchall())


def _read_row(row: dict[str, Any]) -> ActivityRow:
    return ActivityRow(
        run_id=RunId(str(row["run_id"])),
        call_id=ToolCallId(row["call_id"]),
        position=row["position"],
        user_id=UserId(row["created_by"]),
        tool=row["tool"],
        arguments=row["arguments"],
        outcome="ok" if row["ok"] else "error",
        summary=row["summary"],
        duration_ms=row["duration_ms"],
        at=row["created_at"],
    )

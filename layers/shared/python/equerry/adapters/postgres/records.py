"""Records of runs in PostgreSQL; the policies let administrators read their organisation's."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.identifiers import as_uuid
from equerry.adapters.postgres.steps import read_step, write_steps
from equerry.domain.principal import Scope
from equerry.domain.records import Incident, RecordPlace, RunRecord, UsageRecord
from equerry.domain.steps import ToolStep
from equerry.engine.model import ModelChoice
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ConversationId, RunId, UserId
from equerry.kernel.usage import Usage

if TYPE_CHECKING:
    from uuid import UUID

    from equerry.adapters.postgres.connections import Rows

_SELECT = """
SELECT record.*, used.run_id IS NOT NULL AS is_used, used.task_class, used.model_provider, used.model_name,
    used.input_tokens, used.output_tokens, used.cached_input_tokens, used.cache_write_tokens,
    used.reasoning_tokens, used.complete, used.cost_usd, used.priced_on, used.tool_calls, used.passages,
    used.characters
FROM assistant_run_records AS record LEFT JOIN assistant_usage AS used USING (run_id)
"""
_FETCH = _SELECT + "WHERE record.run_id = %s"
_ORDER = " ORDER BY record.created_at DESC, record.run_id DESC LIMIT %(limit)s"
# Each condition only where it is wanted, so that the index that fits it is used.
_WHERE = {
    "run_ids": "record.run_id = ANY(%(run_ids)s)",
    "profile": "record.profile = %(profile)s",
    "since": "record.created_at >= %(since)s",
    "before": "record.created_at < %(before)s",
    "at": "(record.created_at, record.run_id) < (%(at)s, %(run_id)s)",
}
_STEPS = "SELECT * FROM assistant_steps WHERE run_id = ANY(%s) ORDER BY run_id, position"
_COUNT = """
SELECT coalesce(sum(characters), 0)::bigint AS characters FROM assistant_usage
WHERE organisation_id = %s AND created_by = %s AND at >= %s
"""
_USAGE = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens")


@dataclass(frozen=True, slots=True)
class PostgresRunRecordAdapter:
    """RunRecordPort; what is saved is saved by who keeps the run."""

    connections: PostgresConnections

    def save_step(self, scope: Scope, run_id: RunId, step: ToolStep) -> None:
        """See RunRecordPort."""
        with self.connections.keeping(scope) as rows:
            write_steps(rows, run_id, (step,))

    def save_deliveries(self, scope: Scope, run_id: RunId, deliveries: Mapping[str, object]) -> None:
        """See RunRecordPort."""
        with self.connections.keeping(scope) as rows:
            rows.execute(
                "UPDATE assistant_run_records SET deliveries = %s::jsonb WHERE run_id = %s",
                (json.dumps(dict(deliveries)), as_uuid(run_id, name="run")),
            )

    def fetch_record(self, scope: Scope, run_id: RunId) -> RunRecord:
        """See RunRecordPort."""
        with self.connections.transaction(scope) as rows:
            row = rows.execute(_FETCH, (as_uuid(run_id, name="run"),)).fetchone()
            if row is None:
                raise NotFound("there is no such run")
            return _read_records(rows, [row])[0]

    def list_records(
        self, scope: Scope, incident: Incident, *, after: RecordPlace | None, limit: int
    ) -> tuple[RunRecord, ...]:
        """See RunRecordPort."""
        wanted = {
            "organisation": scope.organisation_id,
            "run_ids": [as_uuid(run_id, name="run") for run_id in incident.run_ids] or None,
            "profile": incident.profile,
            "since": incident.since,
            "before": incident.before,
            "at": after.at if after else None,
            "run_id": as_uuid(after.run_id, name="run") if after else None,
            "limit": limit,
        }
        asked = [condition for name, condition in _WHERE.items() if wanted[name] is not None]
        conditions = " AND ".join(["WHERE record.organisation_id = %(organisation)s", *asked])
        with self.connections.transaction(scope) as rows:
            found = rows.execute(_SELECT + conditions + _ORDER, wanted).fetchall()
            return _read_records(rows, found)

    def count_retrieved(self, scope: Scope, *, since: datetime) -> int:
        """See RunRecordPort."""
        with self.connections.transaction(scope) as rows:
            (row,) = rows.execute(_COUNT, (scope.organisation_id, scope.user_id, since)).fetchall()
            return int(row["characters"])


def _read_records(rows: "Rows", found: list[dict[str, Any]]) -> tuple[RunRecord, ...]:
    steps: dict[UUID, list[ToolStep]] = {row["run_id"]: [] for row in found}
    if found:
        for row in rows.execute(_STEPS, (list(steps),)).fetchall():
            steps[row["run_id"]].append(read_step(row))
    return tuple(_read_record(row, tuple(steps[row["run_id"]])) for row in found)


def _read_record(row: dict[str, Any], steps: tuple[ToolStep, ...]) -> RunRecord:
    same = (
        *("profile", "surface", "mode", "mode_reason", "status", "trace_id", "attempts", "created_at"),
        *("started_at", "first_text_at", "ended_at", "stop_reason", "error_code", "composition", "outcome"),
        "deliveries",
    )
    return RunRecord(
        run_id=RunId(str(row["run_id"])),
        conversation_id=ConversationId(str(row["conversation_id"])),
        user_id=UserId(row["created_by"]),
        steps=steps,
        usage=_read_usage(row) if row["is_used"] else None,
        **{name: row[name] for name in same},
    )


def _read_usage(row: dict[str, Any]) -> UsageRecord:
    model = None
    if row["model_name"] is not None:
        model = ModelChoice(provider=row["model_provider"], model=row["model_name"])
    same = ("task_class", "complete", "cost_usd", "priced_on", "tool_calls", "passages", "characters")
    return UsageRecord(
        model=model,
        usage=Usage(**{name: row[name] for name in _USAGE}),
        **{name: row[name] for name in same},
    )

"""Tool calls in PostgreSQL: one statement keeps the step and, when it has finished, its audit."""

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from equerry.adapters.postgres.identifiers import as_uuid
from equerry.domain.steps import ShownStep, ToolStep, show_step
from equerry.kernel.identifiers import RunId, ToolCallId

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

# Whose it is comes from the run, so that nobody writes into another's; an ended run takes no more.
_SAVE = """
WITH saved AS (
    INSERT INTO assistant_steps
        (run_id, position, conversation_id, organisation_id, created_by, call_id, tool, label, arguments,
         model_id, started_at, finished_at, duration_ms, ok, failure, text, facts, account)
    SELECT run.run_id, %(position)s::integer, run.conversation_id, run.organisation_id, run.created_by,
        %(call_id)s::text, %(tool)s::text, %(label)s::text, %(arguments)s::jsonb,
        coalesce(%(model_id)s::text, run.model_name), %(started_at)s::timestamptz,
        %(finished_at)s::timestamptz, %(duration_ms)s::integer, %(ok)s::boolean, %(failure)s::text,
        %(text)s::text, %(facts)s::jsonb, %(account)s::jsonb
    FROM assistant_runs AS run
    WHERE run.run_id = %(run_id)s AND run.status <> 'ended'
    ON CONFLICT (run_id, position) DO UPDATE
        SET finished_at = EXCLUDED.finished_at, duration_ms = EXCLUDED.duration_ms, ok = EXCLUDED.ok,
            failure = EXCLUDED.failure, text = EXCLUDED.text, facts = EXCLUDED.facts,
            account = EXCLUDED.account
        WHERE assistant_steps.finished_at IS NULL
    RETURNING *
)
"""
_AUDIT = """
INSERT INTO assistant_actions
    (run_id, call_id, conversation_id, organisation_id, created_by, position, tool, arguments, ok, outcome,
     result_summary, duration_ms, model_id, created_at)
SELECT run_id, call_id, conversation_id, organisation_id, created_by, position, tool, arguments, ok,
    %(outcome)s::text, facts, duration_ms, model_id, finished_at
FROM saved WHERE finished_at IS NOT NULL
ON CONFLICT (run_id, position) DO NOTHING
"""
# What began and never told its end is audited by whoever ends the run.
_AUDIT_UNREPORTED = """
INSERT INTO assistant_actions
    (run_id, call_id, conversation_id, organisation_id, created_by, position, tool, arguments, model_id,
     created_at)
SELECT run_id, call_id, conversation_id, organisation_id, created_by, position, tool, arguments, model_id, %s
FROM assistant_steps WHERE run_id = %s AND finished_at IS NULL
ON CONFLICT (run_id, position) DO NOTHING
"""
SHOWN_STEPS = """
(SELECT coalesce(json_agg(shown ORDER BY shown.position), '[]')
 FROM (SELECT position, call_id, tool, label, ok, text
       FROM assistant_steps WHERE run_id = message.run_id) AS shown) AS steps
"""
"""A column for a query over `assistant_messages AS message`."""


def write_steps(rows: "Rows", run_id: RunId, steps: tuple[ToolStep, ...]) -> None:
    """Keep steps, and the audit of those that have finished, in the caller's transaction."""
    rows.executemany(_SAVE + _AUDIT, [_values(run_id, step) for step in steps])


def audit_unreported(rows: "Rows", run_id: RunId, at: datetime) -> None:
    """Audit what began and never told how it ended."""
    rows.execute(_AUDIT_UNREPORTED, (at, as_uuid(run_id, name="run")))


def read_step(row: dict[str, Any]) -> ToolStep:
    """Build a step from its row."""
    same = (
        *("position", "tool", "label", "arguments", "started_at", "finished_at", "duration_ms", "ok"),
        *("failure", "text", "facts", "account", "model_id"),
    )
    return ToolStep(call_id=ToolCallId(row["call_id"]), **{name: row[name] for name in same})


def read_shown_steps(entries: list[dict[str, Any]]) -> tuple[ShownStep, ...]:
    """Build what a message shows from SHOWN_STEPS."""
    return tuple(
        show_step(
            call_id=ToolCallId(entry["call_id"]),
            tool=entry["tool"],
            label=entry["label"],
            ok=entry["ok"],
            text=entry["text"],
        )
        for entry in entries
    )


def _values(run_id: RunId, step: ToolStep) -> dict[str, object]:
    return {
        "run_id": as_uuid(run_id, name="run"),
        "position": step.position,
        "call_id": step.call_id,
        "tool": step.tool,
        "label": step.label,
        "arguments": json.dumps(dict(step.arguments)),
        "model_id": step.model_id,
        "started_at": step.started_at,
        "finished_at": step.finished_at,
        "duration_ms": step.duration_ms,
        "ok": step.ok,
        "failure": step.failure,
        "outcome": step.outcome,
        "text": step.text,
        "facts": json.dumps(dict(step.facts)),
        "account": json.dumps(dict(step.account)),
    }

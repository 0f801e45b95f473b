"""Runs and their audit in PostgreSQL."""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.identifiers import as_uuid
from equerry.adapters.postgres.steps import SHOWN_STEPS, audit_unreported, write_steps
from equerry.adapters.postgres.transcripts import insert_message, read_message
from equerry.domain.conversations import Run, RunEnd, TranscriptMessage
from equerry.domain.principal import Scope
from equerry.engine.model_choice import ModelChoice
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ConversationId, MessageId, ProjectId, RunId
from equerry.kernel.usage import Usage

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

_FETCH = "SELECT * FROM assistant_runs WHERE run_id = %s"
_LOCK = "SELECT * FROM assistant_runs WHERE run_id = %s FOR UPDATE"
_FIND_ANSWER = f"""
SELECT message.*, {SHOWN_STEPS} FROM assistant_runs AS run
JOIN assistant_messages AS message ON message.message_id = run.assistant_message_id
WHERE run.run_id = %s AND run.status = 'ended'
"""  # noqa: S608  # our columns
# The record begins with the run, in the same round trip.
_START = """
WITH started AS (
    UPDATE assistant_runs
    SET status = 'running', profile_version = %(version)s, model_provider = %(provider)s,
        model_name = %(model)s, started_at = coalesce(started_at, now())
    WHERE run_id = %(run_id)s AND status <> 'ended'
    RETURNING *
)
INSERT INTO assistant_run_records
    (run_id, conversation_id, organisation_id, created_by, profile, surface, mode, mode_reason, status,
     trace_id, attempts, composition, created_at, started_at)
SELECT run.run_id, run.conversation_id, run.organisation_id, run.created_by, run.profile, home.surface,
    run.mode, run.mode_reason, 'running', %(trace_id)s::text, 1, %(composition)s::jsonb, run.created_at,
    run.started_at
FROM started AS run JOIN assistant_conversations AS home USING (conversation_id)
ON CONFLICT (run_id) DO UPDATE
    SET status = 'running', trace_id = EXCLUDED.trace_id, attempts = assistant_run_records.attempts + 1,
        composition = EXCLUDED.composition, started_at = EXCLUDED.started_at
"""
_END_RUN = """
UPDATE assistant_runs
SET status = 'ended', stop_reason = %s, error_code = %s, error_message = %s, usage = %s::jsonb, last_seq = %s,
    citations_removed = %s, passages_retrieved = %s, ended_at = %s,
    model_provider = coalesce(%s, model_provider), model_name = coalesce(%s, model_name)
WHERE run_id = %s
"""
# A run that no worker ever took has a record as well; one that a worker began keeps what it began with.
_END_RECORD = """
INSERT INTO assistant_run_records
    (run_id, conversation_id, organisation_id, created_by, profile, surface, mode, mode_reason, status,
     outcome, stop_reason, error_code, created_at, started_at, first_text_at, ended_at)
SELECT run.run_id, run.conversation_id, run.organisation_id, run.created_by, run.profile, home.surface,
    run.mode, run.mode_reason, 'ended', %(outcome)s::jsonb, run.stop_reason, run.error_code, run.created_at,
    run.started_at, %(first_text_at)s::timestamptz, run.ended_at
FROM assistant_runs AS run JOIN assistant_conversations AS home USING (conversation_id)
WHERE run.run_id = %(run_id)s
ON CONFLICT (run_id) DO UPDATE
    SET status = 'ended', outcome = EXCLUDED.outcome, stop_reason = EXCLUDED.stop_reason,
        error_code = EXCLUDED.error_code, first_text_at = EXCLUDED.first_text_at, ended_at = EXCLUDED.ended_at
"""
# Written only where it changes something: most conversations hold nothing of any project.
_MARK = """
UPDATE assistant_conversations AS conversation
SET project_ids = array(
    SELECT DISTINCT project FROM unnest(conversation.project_ids || %(projects)s::text[]) AS project
    ORDER BY project
)
FROM assistant_runs AS run
WHERE run.run_id = %(run_id)s AND run.status <> 'ended' AND conversation.conversation_id = run.conversation_id
    AND NOT conversation.project_ids @> %(projects)s::text[]
"""
# What was retrieved is added up from the steps, so that a run ended by another worker counts as well.
_USE = """
INSERT INTO assistant_usage
    (run_id, conversation_id, organisation_id, created_by, profile, surface, task_class, mode, model_provider,
     model_name, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens,
     complete, cost_usd, priced_on, tool_calls, passages, characters, at)
SELECT record.run_id, record.conversation_id, record.organisation_id, record.created_by, record.profile,
    record.surface, coalesce(record.composition ->> 'taskClass', 'chat'), record.mode, run.model_provider,
    run.model_name, %(input_tokens)s, %(output_tokens)s, %(cached_input_tokens)s, %(cache_write_tokens)s,
    %(reasoning_tokens)s, %(complete)s, %(cost_usd)s::numeric, %(priced_on)s::date, taken.calls,
    taken.passages, taken.characters, run.ended_at
FROM assistant_run_records AS record JOIN assistant_runs AS run USING (run_id)
CROSS JOIN LATERAL (
    SELECT count(*) AS calls,
        coalesce(sum(CASE WHEN jsonb_typeof(facts -> 'passages') = 'number'
            THEN (facts ->> 'passages')::numeric END), 0)::bigint AS passages,
        coalesce(sum(CASE WHEN jsonb_typeof(facts -> 'characters') = 'number'
            THEN (facts ->> 'characters')::numeric END), 0)::bigint AS characters
    FROM assistant_steps WHERE run_id = record.run_id
) AS taken
WHERE record.run_id = %(run_id)s
ON CONFLICT (run_id) DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class PostgresRunAdapter:
    """RunPort; a run's end is one transaction, and only the first of two ends counts.

    Attributes:
        keeps: for those who run turns and end them; others read as their scope may.
    """

    connections: PostgresConnections
    keeps: bool = False

    def fetch_run(self, scope: Scope, run_id: RunId) -> Run:
        """See RunPort."""
        with self._begin(scope) as rows:
            return _run(_fetch_run(rows, run_id))

    def find_answer(self, scope: Scope, run_id: RunId) -> TranscriptMessage | None:
        """See RunPort."""
        with self._begin(scope) as rows:
            rows.execute(_FIND_ANSWER, (as_uuid(run_id, name="run"),))
            row = rows.fetchone()
            return read_message(row) if row else None

    def start_run(
        self,
        scope: Scope,
        run_id: RunId,
        *,
        profile_version: str,
        model: ModelChoice | None,
        composition: Mapping[str, object] | None = None,
        trace_id: str | None = None,
    ) -> None:
        """See RunPort."""
        provider, name = _served_by(model)
        begun = {
            "run_id": as_uuid(run_id, name="run"),
            "version": profile_version,
            "provider": provider,
            "model": name,
            "composition": json.dumps(dict(composition or {})),
            "trace_id": trace_id,
        }
        with self._begin(scope) as rows:
            rows.execute(_START, begun)

    def mark_provider_started(self, scope: Scope, run_id: RunId) -> None:
        """See RunPort."""
        with self._begin(scope) as rows:
            rows.execute(
                "UPDATE assistant_runs SET provider_started = true WHERE run_id = %s AND status <> 'ended'",
                (as_uuid(run_id, name="run"),),
            )

    def mark_projects(self, scope: Scope, run_id: RunId, project_ids: tuple[ProjectId, ...]) -> None:
        """See RunPort."""
        with self._begin(scope) as rows:
            _mark_projects(rows, run_id, project_ids)

    def end_run(self, scope: Scope, run_id: RunId, end: RunEnd) -> bool:
        """See RunPort."""
        with self._begin(scope) as rows:
            run = _run(_fetch_run(rows, run_id, lock=True))
            if run.status == "ended":
                return False
            _mark_projects(rows, run_id, end.project_ids)
            if end.text.strip():
                insert_message(rows, scope, run.conversation_id, _answer(run, end))
            write_steps(rows, run_id, end.actions)
            audit_unreported(rows, run_id, end.ended_at)
            _update_run(rows, run, end)
            _record_end(rows, run, end)
            rows.execute(
                "UPDATE assistant_conversations SET updated_at = greatest(updated_at, %s)"
                " WHERE conversation_id = %s",
                (end.ended_at, as_uuid(run.conversation_id, name="conversation")),
            )
            return True

    def _begin(self, scope: Scope) -> AbstractContextManager["Rows"]:
        return self.connections.keeping(scope) if self.keeps else self.connections.transaction(scope)


def _mark_projects(rows: "Rows", run_id: RunId, project_ids: tuple[ProjectId, ...]) -> None:
    if project_ids:
        rows.execute(_MARK, {"run_id": as_uuid(run_id, name="run"), "projects": list(project_ids)})


def _served_by(model: ModelChoice | None) -> tuple[str | None, str | None]:
    return (model.provider, model.model) if model else (None, None)


def _fetch_run(rows: "Rows", run_id: RunId, *, lock: bool = False) -> dict[str, Any]:
    rows.execute(
        _LOCK if lock else _FETCH,
        (as_uuid(run_id, name="run"),),
    )
    row = rows.fetchone()
    if row is None:
        raise NotFound("there is no such run")
    return row


def _answer(run: Run, end: RunEnd) -> TranscriptMessage:
    return TranscriptMessage(
        message_id=run.assistant_message_id,
        role="assistant",
        text=end.text,
        run_id=run.run_id,
        created_at=end.ended_at,
        citations=end.citations,
    )


def _update_run(rows: "Rows", run: Run, end: RunEnd) -> None:
    rows.execute(
        _END_RUN,
        (
            end.stop_reason,
            end.error_code,
            end.error_message,
            json.dumps(asdict(end.usage)),
            end.last_seq,
            end.citations_removed,
            list(end.passages_retrieved),
            end.ended_at,
            *_served_by(end.model),
            as_uuid(run.run_id, name="run"),
        ),
    )


def _record_end(rows: "Rows", run: Run, end: RunEnd) -> None:
    values = {
        "run_id": as_uuid(run.run_id, name="run"),
        "outcome": json.dumps(dict(end.outcome)),
        "first_text_at": end.first_text_at,
        "complete": end.complete,
        "cost_usd": end.cost.usd if end.cost else None,
        "priced_on": end.cost.priced_on if end.cost else None,
        **asdict(end.usage),
    }
    rows.execute(_END_RECORD, values)
    rows.execute(_USE, values)


def _run(row: dict[str, Any]) -> Run:
    model = None
    if row["model_name"] is not None:
        model = ModelChoice(provider=row["model_provider"], model=row["model_name"])
    same = (
        *("profile", "mode", "mode_reason", "created_at", "status", "provider_started", "profile_version"),
        *("stop_reason", "error_code", "error_message", "last_seq", "started_at", "ended_at"),
    )
    return Run(
        run_id=RunId(str(row["run_id"])),
        conversation_id=ConversationId(str(row["conversation_id"])),
        user_message_id=MessageId(str(row["user_message_id"])),
        assistant_message_id=MessageId(str(row["assistant_message_id"])),
        model=model,
        usage=Usage(**row["usage"]),
        **{name: row[name] for name in same},
    )

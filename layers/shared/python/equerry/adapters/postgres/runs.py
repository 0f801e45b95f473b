"""Runs and their audit in PostgreSQL."""

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.identifiers import as_uuid
from equerry.adapters.postgres.transcripts import insert_message, read_message
from equerry.domain.conversations import Run, RunEnd, TranscriptMessage
from equerry.domain.principal import Scope
from equerry.engine.model import ModelChoice
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ConversationId, MessageId, RunId
from equerry.kernel.usage import Usage

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

_FETCH = "SELECT * FROM assistant_runs WHERE run_id = %s"
_LOCK = "SELECT * FROM assistant_runs WHERE run_id = %s FOR UPDATE"
_INSERT_ACTION = """
INSERT INTO assistant_actions
    (run_id, call_id, conversation_id, organisation_id, created_by, position, tool, arguments, ok, summary,
     duration_ms, model_id, created_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s::jsonb, %s, %s, %s, %s, %s)
"""
_END_RUN = """
UPDATE assistant_runs
SET status = 'ended', stop_reason = %s, error_code = %s, error_message = %s, usage = %s::jsonb, last_seq = %s,
    citations_removed = %s, passages_retrieved = %s, ended_at = %s
WHERE run_id = %s
"""


@dataclass(frozen=True, slots=True)
class PostgresRunAdapter:
    """RunPort; a run's end is one transaction, and only the first of two ends counts."""

    connections: PostgresConnections

    def fetch_run(self, scope: Scope, run_id: RunId) -> Run:
        """See RunPort."""
        with self.connections.transaction(scope) as rows:
            return _run(_fetch_run(rows, run_id))

    def find_answer(self, scope: Scope, run_id: RunId) -> TranscriptMessage | None:
        """See RunPort."""
        with self.connections.transaction(scope) as rows:
            rows.execute(
                "SELECT message.* FROM assistant_runs AS run"
                " JOIN assistant_messages AS message ON message.message_id = run.assistant_message_id"
                " WHERE run.run_id = %s AND run.status = 'ended'",
                (as_uuid(run_id, name="run"),),
            )
            row = rows.fetchone()
            return read_message(row) if row else None

    def start_run(
        self, scope: Scope, run_id: RunId, *, profile_version: str, model: ModelChoice | None
    ) -> None:
        """See RunPort."""
        with self.connections.transaction(scope) as rows:
            rows.execute(
                "UPDATE assistant_runs SET status = 'running', profile_version = %s, model_provider = %s,"
                " model_name = %s, started_at = coalesce(started_at, now())"
                " WHERE run_id = %s AND status <> 'ended'",
                (profile_version, *_served_by(model), as_uuid(run_id, name="run")),
            )

    def mark_provider_started(self, scope: Scope, run_id: RunId) -> None:
        """See RunPort."""
        with self.connections.transaction(scope) as rows:
            rows.execute(
                "UPDATE assistant_runs SET provider_started = true WHERE run_id = %s AND status <> 'ended'",
                (as_uuid(run_id, name="run"),),
            )

    def end_run(self, scope: Scope, run_id: RunId, end: RunEnd) -> bool:
        """See RunPort."""
        with self.connections.transaction(scope) as rows:
            run = _run(_fetch_run(rows, run_id, lock=True))
            if run.status == "ended":
                return False
            if end.text.strip():
                insert_message(rows, scope, run.conversation_id, _answer(run, end))
            _insert_actions(rows, scope, run, end)
            _update_run(rows, run, end)
            rows.execute(
                "UPDATE assistant_conversations SET updated_at = greatest(updated_at, %s)"
                " WHERE conversation_id = %s",
                (end.ended_at, as_uuid(run.conversation_id, name="conversation")),
            )
            return True


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


def _insert_actions(rows: "Rows", scope: Scope, run: Run, end: RunEnd) -> None:
    rows.executemany(
        _INSERT_ACTION,
        [
            (
                as_uuid(run.run_id, name="run"),
                action.call_id,
                as_uuid(run.conversation_id, name="conversation"),
                scope.organisation_id,
                scope.user_id,
                position,
                action.tool,
                json.dumps(action.arguments),
                action.ok,
                action.summary,
                action.duration_ms,
                run.model.model if run.model else None,
                end.ended_at,
            )
            for position, action in enumerate(end.actions)
        ],
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
            as_uuid(run.run_id, name="run"),
        ),
    )


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

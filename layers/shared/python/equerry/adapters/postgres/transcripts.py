"""Conversations and messages in PostgreSQL."""

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.identifiers import as_uuid
from equerry.channel.events import CitationRef
from equerry.domain.conversations import Conversation, Run, TranscriptMessage, derive_title
from equerry.domain.principal import Scope
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ConversationId, DocumentId, MessageId, PassageId, RunId

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

_FETCH = "SELECT * FROM assistant_conversations WHERE conversation_id = %s"
_LOCK = "SELECT * FROM assistant_conversations WHERE conversation_id = %s FOR UPDATE"
_INSERT_MESSAGE = """
INSERT INTO assistant_messages
    (message_id, conversation_id, organisation_id, created_by, run_id, role, content, citations, created_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s::jsonb, %s)
ON CONFLICT (message_id) DO NOTHING
"""
_INSERT_RUN = """
INSERT INTO assistant_runs
    (run_id, conversation_id, organisation_id, created_by, user_message_id, assistant_message_id,
     profile, mode, mode_reason, status, created_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 'queued', %s)
ON CONFLICT (run_id) DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class PostgresTranscriptAdapter:
    """TranscriptPort over the database's own policies: what is another's does not come back at all."""

    connections: PostgresConnections

    def create_conversation(self, scope: Scope, conversation: Conversation) -> None:
        """See TranscriptPort."""
        with self.connections.transaction(scope) as rows:
            rows.execute(
                "INSERT INTO assistant_conversations (conversation_id, organisation_id, created_by, profile,"
                " title, created_at, updated_at) VALUES (%s, %s, %s, %s, %s, %s, %s)"
                " ON CONFLICT (conversation_id) DO NOTHING",
                (
                    as_uuid(conversation.conversation_id, name="conversation"),
                    scope.organisation_id,
                    scope.user_id,
                    conversation.profile,
                    conversation.title,
                    conversation.created_at,
                    conversation.updated_at,
                ),
            )

    def list_conversations(self, scope: Scope, *, limit: int) -> tuple[Conversation, ...]:
        """See TranscriptPort."""
        with self.connections.transaction(scope) as rows:
            rows.execute(
                "SELECT * FROM assistant_conversations WHERE organisation_id = %s AND created_by = %s"
                " ORDER BY updated_at DESC, conversation_id LIMIT %s",
                (scope.organisation_id, scope.user_id, limit),
            )
            return tuple(_conversation(row) for row in rows)

    def fetch_conversation(self, scope: Scope, conversation_id: ConversationId) -> Conversation:
        """See TranscriptPort."""
        with self.connections.transaction(scope) as rows:
            return _conversation(_fetch_conversation(rows, conversation_id))

    def list_messages(
        self, scope: Scope, conversation_id: ConversationId, *, limit: int
    ) -> tuple[TranscriptMessage, ...]:
        """See TranscriptPort."""
        with self.connections.transaction(scope) as rows:
            _fetch_conversation(rows, conversation_id)
            rows.execute(
                "SELECT * FROM assistant_messages WHERE conversation_id = %s ORDER BY position DESC LIMIT %s",
                (as_uuid(conversation_id, name="conversation"), limit),
            )
            return tuple(read_message(row) for row in reversed(rows.fetchall()))

    def append_turn(self, scope: Scope, run: Run, question: TranscriptMessage) -> None:
        """See TranscriptPort."""
        with self.connections.transaction(scope) as rows:
            conversation = _fetch_conversation(rows, run.conversation_id, lock=True)
            _insert_run(rows, scope, run)
            if rows.rowcount == 0:
                return
            insert_message(rows, scope, run.conversation_id, question)
            rows.execute(
                "UPDATE assistant_conversations SET title = %s, updated_at = greatest(updated_at, %s)"
                " WHERE conversation_id = %s",
                (
                    conversation["title"] or derive_title(question.text),
                    question.created_at,
                    conversation["conversation_id"],
                ),
            )


def insert_message(
    rows: "Rows", scope: Scope, conversation_id: ConversationId, message: TranscriptMessage
) -> None:
    """Write one message in the caller's transaction; the same id twice is kept once."""
    rows.execute(
        _INSERT_MESSAGE,
        (
            as_uuid(message.message_id, name="message"),
            as_uuid(conversation_id, name="conversation"),
            scope.organisation_id,
            scope.user_id,
            as_uuid(message.run_id, name="run"),
            message.role,
            message.text,
            json.dumps([asdict(citation) for citation in message.citations]),
            message.created_at,
        ),
    )


def read_message(row: dict[str, Any]) -> TranscriptMessage:
    """Build a message from its row."""
    return TranscriptMessage(
        message_id=MessageId(str(row["message_id"])),
        role=row["role"],
        text=row["content"],
        run_id=RunId(str(row["run_id"])),
        created_at=row["created_at"],
        citations=tuple(_citation(entry) for entry in row["citations"]),
    )


def _insert_run(rows: "Rows", scope: Scope, run: Run) -> None:
    rows.execute(
        _INSERT_RUN,
        (
            as_uuid(run.run_id, name="run"),
            as_uuid(run.conversation_id, name="conversation"),
            scope.organisation_id,
            scope.user_id,
            as_uuid(run.user_message_id, name="message"),
            as_uuid(run.assistant_message_id, name="message"),
            run.profile,
            run.mode,
            run.mode_reason,
            run.created_at,
        ),
    )


def _fetch_conversation(
    rows: "Rows", conversation_id: ConversationId, *, lock: bool = False
) -> dict[str, Any]:
    rows.execute(
        _LOCK if lock else _FETCH,
        (as_uuid(conversation_id, name="conversation"),),
    )
    row = rows.fetchone()
    if row is None:
        raise NotFound("there is no such conversation")
    return row


def _conversation(row: dict[str, Any]) -> Conversation:
    return Conversation(
        conversation_id=ConversationId(str(row["conversation_id"])),
        profile=row["profile"],
        title=row["title"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _citation(entry: dict[str, Any]) -> CitationRef:
    return CitationRef(
        n=entry["n"],
        passage_id=PassageId(entry["passage_id"]),
        document_id=DocumentId(entry["document_id"]),
        title=entry["title"],
        heading_path=tuple(entry["heading_path"]),
        quote=entry["quote"],
        source_path=entry["source_path"],
    )

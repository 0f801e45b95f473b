"""Conversations and messages in PostgreSQL."""

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.identifiers import as_uuid
from equerry.adapters.postgres.intents import audit_classification
from equerry.adapters.postgres.steps import SHOWN_STEPS, read_shown_steps
from equerry.adapters.postgres.tenancies import read_tenancy
from equerry.channel.events import CitationRef
from equerry.domain.conversations import (
    Conversation,
    ConversationArchived,
    ConversationPlace,
    Run,
    TranscriptMessage,
    derive_title,
    place_steps,
)
from equerry.domain.opening import OpenedTurn, OpenTurn, Premises
from equerry.domain.principal import Scope
from equerry.domain.turn_context import TurnContext, read_context
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ConversationId, DocumentId, MessageId, PassageId, RunId

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

_FETCH = "SELECT * FROM assistant_conversations WHERE conversation_id = %s"
LIST_ACTIVE = """
SELECT * FROM assistant_conversations
WHERE organisation_id = %(organisation)s AND created_by = %(user)s AND state = 'active'
    AND (%(at)s::timestamptz IS NULL OR (updated_at, conversation_id) < (%(at)s, %(id)s::uuid))
ORDER BY updated_at DESC, conversation_id DESC LIMIT %(limit)s
"""
_PREMISES = """
SELECT conversation.*, tenancy.enabled, tenancy.surfaces, tenancy.profiles
FROM (SELECT %s::uuid AS wanted, %s AS organisation) AS asked
LEFT JOIN assistant_tenancies AS tenancy ON tenancy.organisation_id = asked.organisation
LEFT JOIN assistant_conversations AS conversation ON conversation.conversation_id = asked.wanted
"""
_TOUCH = """
UPDATE assistant_conversations
SET title = CASE WHEN title = '' THEN %s ELSE title END, updated_at = greatest(updated_at, %s),
    context = coalesce(%s::jsonb, context)
WHERE conversation_id = %s AND state = 'active'
"""
_LIST_MESSAGES = f"""
SELECT message.*, {SHOWN_STEPS} FROM assistant_messages AS message
WHERE conversation_id = %s ORDER BY position DESC LIMIT %s
"""  # noqa: S608  # our columns
_INSERT_MESSAGE = """
INSERT INTO assistant_messages
    (message_id, conversation_id, organisation_id, created_by, run_id, role, content, citations, context,
     created_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s::jsonb, %s::jsonb, %s)
ON CONFLICT (message_id) DO NOTHING
"""
# With its record, in one round trip: also a run that no worker ever takes can be explained.
_INSERT_RUN = """
WITH queued AS (
    INSERT INTO assistant_runs
        (run_id, conversation_id, organisation_id, created_by, user_message_id, assistant_message_id,
         profile, mode, mode_reason, status, created_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 'queued', %s)
    ON CONFLICT (run_id) DO NOTHING
    RETURNING *
)
INSERT INTO assistant_run_records
    (run_id, conversation_id, organisation_id, created_by, profile, surface, mode, mode_reason, created_at)
SELECT run.run_id, run.conversation_id, run.organisation_id, run.created_by, run.profile, home.surface,
    run.mode, run.mode_reason, run.created_at
FROM queued AS run JOIN assistant_conversations AS home USING (conversation_id)
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
                " title, surface, about, context, created_at, updated_at)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, %s::jsonb, %s, %s)"
                " ON CONFLICT (conversation_id) DO NOTHING",
                (
                    as_uuid(conversation.conversation_id, name="conversation"),
                    scope.organisation_id,
                    scope.user_id,
                    conversation.profile,
                    conversation.title,
                    conversation.surface,
                    conversation.about,
                    _context_text(conversation.context),
                    conversation.created_at,
                    conversation.updated_at,
                ),
            )

    def list_conversations(
        self, scope: Scope, *, limit: int, after: ConversationPlace | None = None
    ) -> tuple[Conversation, ...]:
        """See TranscriptPort."""
        wanted = {
            "organisation": scope.organisation_id,
            "user": scope.user_id,
            "at": after.updated_at if after else None,
            "id": as_uuid(after.conversation_id, name="conversation") if after else None,
            "limit": limit,
        }
        with self.connections.transaction(scope) as rows:
            rows.execute(LIST_ACTIVE, wanted)
            return tuple(_conversation(row) for row in rows)

    def archive_conversation(self, scope: Scope, conversation_id: ConversationId) -> None:
        """See TranscriptPort."""
        with self.connections.transaction(scope) as rows:
            rows.execute(
                "UPDATE assistant_conversations SET state = 'archived',"
                " archived_at = coalesce(archived_at, now()) WHERE conversation_id = %s",
                (as_uuid(conversation_id, name="conversation"),),
            )
            if rows.rowcount == 0:
                raise NotFound("there is no such conversation")

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
            rows.execute(_LIST_MESSAGES, (as_uuid(conversation_id, name="conversation"), limit))
            return place_steps([read_message(row) for row in reversed(rows.fetchall())])

    def append_turn(self, scope: Scope, conversation_id: ConversationId, open_turn: OpenTurn) -> OpenedTurn:
        """See TranscriptPort."""
        with self.connections.transaction(scope) as rows:
            premises = _fetch_premises(rows, scope, conversation_id)
            opened = open_turn(premises)
            if premises.conversation is None:
                raise NotFound("there is no such conversation")
            _touch(rows, conversation_id, opened.question)
            _insert_run(rows, scope, opened.run)
            if rows.rowcount:
                insert_message(rows, scope, conversation_id, opened.question)
                audit_classification(rows, scope, opened)
            return opened


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
            _context_text(message.context),
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
        context=read_context(row["context"]),
        steps=read_shown_steps(row["steps"]),
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


def _fetch_premises(rows: "Rows", scope: Scope, conversation_id: ConversationId) -> Premises:
    rows.execute(_PREMISES, (as_uuid(conversation_id, name="conversation"), scope.organisation_id))
    (row,) = rows.fetchall()
    return Premises(
        tenancy=None if row["enabled"] is None else read_tenancy(row),
        conversation=None if row["conversation_id"] is None else _conversation(row),
    )


def _touch(rows: "Rows", conversation_id: ConversationId, question: TranscriptMessage) -> None:
    rows.execute(
        _TOUCH,
        (
            derive_title(question.text),
            question.created_at,
            _context_text(question.context),
            as_uuid(conversation_id, name="conversation"),
        ),
    )
    if rows.rowcount == 0:
        raise ConversationArchived


def _context_text(context: TurnContext | None) -> str | None:
    return None if context is None else json.dumps(context.to_data())


def _fetch_conversation(rows: "Rows", conversation_id: ConversationId) -> dict[str, Any]:
    rows.execute(_FETCH, (as_uuid(conversation_id, name="conversation"),))
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
        surface=row["surface"],
        about=row["about"],
        state=row["state"],
        context=read_context(row["context"]),
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

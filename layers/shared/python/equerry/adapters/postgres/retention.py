"""The sweep's deletions, as the platform role."""

from dataclasses import dataclass
from datetime import datetime

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.domain.retention import DELETION_LATE, Shortening
from equerry.kernel.identifiers import OrganisationId

# The age is asked again outside: a conversation touched since the inner query must stay.
_CONVERSATIONS = """
WITH old AS MATERIALIZED (
    SELECT conversation_id FROM assistant_conversations
    WHERE updated_at < %(before)s {mine} ORDER BY updated_at LIMIT %(limit)s
), recent AS MATERIALIZED (
    SELECT run.run_id, run.organisation_id, run.created_by
    FROM assistant_runs AS run JOIN old USING (conversation_id)
    WHERE run.created_at > now() - %(late)s
), gone AS (
    DELETE FROM assistant_conversations
    WHERE updated_at < %(before)s AND conversation_id IN (SELECT conversation_id FROM old)
    RETURNING conversation_id, organisation_id, created_by
), runs AS (
    INSERT INTO assistant_disposals (kind, organisation_id, user_id, thing_id)
    SELECT 'run', organisation_id, created_by, run_id::text FROM recent
), bodies AS (
    INSERT INTO assistant_disposals (kind, organisation_id, user_id, thing_id)
    SELECT 'conversation', organisation_id, created_by, conversation_id::text FROM gone
)
SELECT count(*) AS removed FROM gone
"""
_PASSAGES = """
DELETE FROM assistant_passages WHERE passage_id IN (
    SELECT passage_id FROM assistant_passages
    WHERE superseded_at < %(before)s {mine} ORDER BY superseded_at LIMIT %(limit)s
)
"""
_DOCUMENTS = """
DELETE FROM assistant_documents WHERE status = 'deleted' AND document_id IN (
    SELECT document_id FROM assistant_documents AS document
    WHERE status = 'deleted' AND updated_at < %(before)s {mine} AND NOT EXISTS (
        SELECT FROM assistant_passages AS passage WHERE passage.document_id = document.document_id
    ) LIMIT %(limit)s
)
"""
_ACTIONS = """
DELETE FROM assistant_actions WHERE (run_id, position) IN (
    SELECT run_id, position FROM assistant_actions
    WHERE created_at < %(before)s {mine} ORDER BY created_at LIMIT %(limit)s
)
"""
_USAGE = """
DELETE FROM assistant_usage WHERE run_id IN (
    SELECT run_id FROM assistant_usage WHERE at < %(before)s {mine} ORDER BY at LIMIT %(limit)s
)
"""
_MINE = "AND organisation_id = %(organisation)s"


@dataclass(frozen=True, slots=True)
class PostgresRetentionAdapter:
    """RetentionPort; needs connections of the platform role, the only one that may delete."""

    connections: PostgresConnections

    def list_shortenings(self) -> tuple[Shortening, ...]:
        """See RetentionPort."""
        with self.connections.across_tenants() as rows:
            rows.execute(
                "SELECT organisation_id, conversation_days, action_days FROM assistant_tenancies"
                " WHERE conversation_days IS NOT NULL OR action_days IS NOT NULL ORDER BY organisation_id"
            )
            return tuple(Shortening(**row) for row in rows.fetchall())

    def delete_conversations(
        self, *, unchanged_since: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        """See RetentionPort."""
        with self.connections.across_tenants() as rows:
            rows.execute(
                _narrow(_CONVERSATIONS, organisation_id),
                {
                    "before": unchanged_since,
                    "limit": limit,
                    "organisation": organisation_id,
                    "late": DELETION_LATE,
                },
            )
            counted = rows.fetchone()
            return int(counted["removed"]) if counted else 0

    def delete_audit(
        self, *, older_than: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        """See RetentionPort."""
        actions = self._delete(_ACTIONS, older_than, limit, organisation_id)
        if actions >= limit:
            return actions
        return actions + self._delete(_USAGE, older_than, limit - actions, organisation_id)

    def delete_superseded_passages(
        self, *, superseded_before: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        """See RetentionPort."""
        return self._delete(_PASSAGES, superseded_before, limit, organisation_id)

    def delete_withdrawn_documents(
        self, *, withdrawn_before: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        """See RetentionPort."""
        return self._delete(_DOCUMENTS, withdrawn_before, limit, organisation_id)

    def _delete(
        self, statement: str, before: datetime, limit: int, organisation_id: OrganisationId | None
    ) -> int:
        with self.connections.across_tenants() as rows:
            rows.execute(
                _narrow(statement, organisation_id),
                {"before": before, "limit": limit, "organisation": organisation_id},
            )
            return rows.rowcount


def _narrow(statement: str, organisation_id: OrganisationId | None) -> str:
    return statement.format(mine="" if organisation_id is None else _MINE)

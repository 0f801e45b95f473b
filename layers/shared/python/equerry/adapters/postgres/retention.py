"""The sweep's deletions, as the platform role."""

from dataclasses import dataclass
from datetime import datetime

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.removals import delete_noted, remove_conversations
from equerry.domain.retention import Shortening
from equerry.kernel.identifiers import OrganisationId

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
            return remove_conversations(
                rows,
                going=_narrow("updated_at < %(before)s {mine} ORDER BY updated_at", organisation_id),
                still="updated_at < %(before)s",
                values={"before": unchanged_since, "limit": limit, "organisation": organisation_id},
            )

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
        # Whoever withdrew one may have died before its uploads were deleted.
        with self.connections.across_tenants() as rows:
            return delete_noted(
                rows,
                "assistant_documents",
                _narrow(_DOCUMENTS, organisation_id),
                {"before": withdrawn_before, "limit": limit, "organisation": organisation_id, "whose": ""},
            )

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

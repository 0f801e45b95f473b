"""The sweep's deletions, as the platform role."""

from dataclasses import dataclass
from datetime import datetime

from equerry.adapters.postgres.connections import PostgresConnections

# The age is asked again outside: a conversation touched since the inner query must stay.
_CONVERSATIONS = """
DELETE FROM assistant_conversations WHERE updated_at < %(before)s AND conversation_id IN (
    SELECT conversation_id FROM assistant_conversations
    WHERE updated_at < %(before)s ORDER BY updated_at LIMIT %(limit)s
)
"""
_PASSAGES = """
DELETE FROM assistant_passages WHERE passage_id IN (
    SELECT passage_id FROM assistant_passages
    WHERE superseded_at < %(before)s ORDER BY superseded_at LIMIT %(limit)s
)
"""

_ACTIONS = """
DELETE FROM assistant_actions WHERE (run_id, position) IN (
    SELECT run_id, position FROM assistant_actions
    WHERE created_at < %(before)s ORDER BY created_at LIMIT %(limit)s
)
"""
_USAGE = """
DELETE FROM assistant_usage WHERE run_id IN (
    SELECT run_id FROM assistant_usage WHERE at < %(before)s ORDER BY at LIMIT %(limit)s
)
"""


@dataclass(frozen=True, slots=True)
class PostgresRetentionAdapter:
    """RetentionPort; needs connections of the platform role, the only one that may delete."""

    connections: PostgresConnections

    def delete_conversations(self, *, unchanged_since: datetime, limit: int) -> int:
        """See RetentionPort."""
        return self._delete(_CONVERSATIONS, unchanged_since, limit)

    def delete_audit(self, *, older_than: datetime, limit: int) -> int:
        """See RetentionPort."""
        actions = self._delete(_ACTIONS, older_than, limit)
        return actions + (self._delete(_USAGE, older_than, limit - actions) if actions < limit else 0)

    def delete_superseded_passages(self, *, superseded_before: datetime, limit: int) -> int:
        """See RetentionPort."""
        return self._delete(_PASSAGES, superseded_before, limit)

    def _delete(self, statement: str, before: datetime, limit: int) -> int:
        with self.connections.across_tenants() as rows:
            rows.execute(statement, {"before": before, "limit": limit})
            return rows.rowcount

"""What is still to be disposed of in other stores, in PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.ports.disposals import Disposal

# What was announced again meanwhile lies at the same place: the note waits until that document has gone.
_DUE = """
SELECT disposal_id, kind, organisation_id, user_id, thing_id, due_at FROM assistant_disposals AS note
WHERE due_at <= %(now)s AND kind <> 'organisation'
    AND NOT EXISTS (
        SELECT FROM assistant_documents AS document
        WHERE document.document_id =
                CASE note.kind WHEN 'document' THEN split_part(note.thing_id, '/', 2)::uuid END
            AND document.created_at <= note.due_at
    )
    AND (%(organisation)s::text IS NULL OR organisation_id = %(organisation)s)
    AND (%(user)s::text IS NULL OR user_id = %(user)s)
ORDER BY organisation_id, user_id, disposal_id LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class PostgresDisposalAdapter:
    """DisposalPort; needs connections of the platform role."""

    connections: PostgresConnections

    def list_due(
        self, *, now: datetime, limit: int, organisation_id: str | None = None, user_id: str | None = None
    ) -> tuple[Disposal, ...]:
        """See DisposalPort."""
        with self.connections.across_tenants() as rows:
            rows.execute(_DUE, {"now": now, "limit": limit, "organisation": organisation_id, "user": user_id})
            return tuple(Disposal(**row) for row in rows.fetchall())

    def forget_covered(self, organisation_id: str, *, now: datetime) -> None:
        """See DisposalPort."""
        with self.connections.across_tenants() as rows:
            rows.execute(
                "DELETE FROM assistant_disposals"
                " WHERE organisation_id = %s AND kind <> 'run' AND due_at <= %s",
                (organisation_id, now),
            )

    def finish(self, disposals: Sequence[Disposal]) -> None:
        """See DisposalPort."""
        with self.connections.across_tenants() as rows:
            rows.execute(
                "DELETE FROM assistant_disposals WHERE disposal_id = ANY (%s)",
                ([disposal.disposal_id for disposal in disposals],),
            )

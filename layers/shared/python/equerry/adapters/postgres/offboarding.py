"""Organisations' clocks, and the removal of all their rows, as the platform role."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.removals import delete_noted, remove_conversations
from equerry.domain.data_rules import list_rules
from equerry.domain.retention import OffboardingClock
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

# What hangs on a conversation goes with it: these tables have an index by that, and none by organisation.
TABLES: Final = tuple(
    rule.name
    for rule in list_rules("postgres")
    if rule.offboarded == "by_organisation" and rule.kept != "with_conversation"
)
# Every table that another's rows do not lead to; each has an index that begins with the organisation.
_ROOTS: Final = (
    "assistant_conversations",
    "assistant_actions",
    "assistant_usage",
    "assistant_corpora",
    "assistant_tenancies",
    "assistant_org_offboarding",
)
# Walks from one organisation to the next, whatever number of rows each has.
_WALK: Final = """
WITH RECURSIVE walk AS (
    (SELECT organisation_id FROM {table} ORDER BY organisation_id LIMIT 1)
    UNION ALL
    SELECT (SELECT organisation_id FROM {table} WHERE organisation_id > walk.organisation_id
            ORDER BY organisation_id LIMIT 1)
    FROM walk WHERE walk.organisation_id IS NOT NULL
) SELECT organisation_id FROM walk WHERE organisation_id IS NOT NULL
"""
_CLOCK: Final = (
    "SELECT first_disabled_at, purge_started_at FROM assistant_org_offboarding WHERE organisation_id = %s"
)
_BATCH: Final = """
DELETE FROM {table} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {table} WHERE {mine} LIMIT %(limit)s))
"""
_MINE: Final = "organisation_id = %(organisation)s"
# An index leads to superseded passages by their document alone.
_BY_DOCUMENT: Final = (
    "document_id IN (SELECT document_id FROM assistant_documents WHERE organisation_id = %(organisation)s)"
)
_EXPORTED: Final = (
    "assistant_conversations",
    "assistant_messages",
    "assistant_artifacts",
    "assistant_interactions",
    "assistant_actions",
)
_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class PostgresOffboardingAdapter:
    """OffboardingPort; needs connections of the platform role."""

    connections: PostgresConnections

    def list_organisations(self) -> tuple[OrganisationId, ...]:
        """See OffboardingPort."""
        found: set[str] = set()
        with self.connections.across_tenants() as rows:
            for table in _ROOTS:
                rows.execute(_WALK.format(table=table))
                found.update(row["organisation_id"] for row in rows.fetchall())
        return tuple(OrganisationId(organisation) for organisation in sorted(found))

    def find_clock(self, organisation_id: OrganisationId) -> OffboardingClock | None:
        """See OffboardingPort."""
        with self.connections.across_tenants() as rows:
            row = rows.execute(_CLOCK, (organisation_id,)).fetchone()
            return OffboardingClock(**row) if row else None

    def start_clock(self, organisation_id: OrganisationId, *, at: datetime) -> OffboardingClock:
        """See OffboardingPort."""
        with self.connections.across_tenants() as rows:
            rows.execute(
                "INSERT INTO assistant_org_offboarding (organisation_id, first_disabled_at)"
                " VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (organisation_id, at),
            )
            row: Any = rows.execute(_CLOCK, (organisation_id,)).fetchone()
            return OffboardingClock(**row)

    def stop_clock(self, organisation_id: OrganisationId) -> bool:
        """See OffboardingPort."""
        with self.connections.across_tenants() as rows:
            rows.execute(
                "DELETE FROM assistant_org_offboarding WHERE organisation_id = %s", (organisation_id,)
            )
            return rows.rowcount > 0

    def begin_purge(self, organisation_id: OrganisationId, *, at: datetime) -> None:
        """See OffboardingPort."""
        values = {"organisation": organisation_id, "at": at}
        with self.connections.across_tenants() as rows:
            rows.execute(
                "INSERT INTO assistant_org_offboarding VALUES (%(organisation)s, %(at)s, %(at)s)"
                " ON CONFLICT (organisation_id) DO UPDATE SET purge_started_at ="
                " coalesce(assistant_org_offboarding.purge_started_at, excluded.purge_started_at)",
                values,
            )

    def delete_rows(self, organisation_id: OrganisationId, *, limit: int) -> Mapping[str, int]:
        """See OffboardingPort."""
        from psycopg.errors import ForeignKeyViolation

        for table in TABLES:
            try:
                with self.connections.across_tenants() as rows:
                    if removed := _delete_batch(rows, table, organisation_id, limit):
                        return {table: removed}
            except ForeignKeyViolation as violated:
                raise Unavailable(f"somebody still writes what hangs on {table}") from violated
        return {}

    def complete_purge(
        self, organisation_id: OrganisationId, removed: Mapping[str, int], *, at: datetime
    ) -> None:
        """See OffboardingPort."""
        digest = hashlib.sha256(organisation_id.encode()).hexdigest()
        with self.connections.across_tenants() as rows:
            rows.execute(
                "INSERT INTO assistant_deletions"
                " (kind, digest, request_id, removed, started_at, completed_at)"
                " SELECT 'organisation', %s, %s, jsonb_build_array(%s::jsonb),"
                " coalesce(min(purge_started_at), %s), %s FROM assistant_org_offboarding"
                " WHERE organisation_id = %s"
                " ON CONFLICT (kind, digest, request_id) DO UPDATE SET"
                " removed = assistant_deletions.removed || excluded.removed",
                (digest, at.isoformat(), json.dumps(dict(removed)), at, at, organisation_id),
            )
            rows.execute(
                "DELETE FROM assistant_org_offboarding WHERE organisation_id = %s", (organisation_id,)
            )

    def read_rows(self, organisation_id: OrganisationId) -> Iterator[tuple[str, Mapping[str, object]]]:
        """See OffboardingPort."""
        for table in _EXPORTED:
            with (
                self.connections.across_tenants() as rows,
                rows.connection.cursor("equerry_export") as stream,
            ):
                stream.itersize = _PAGE
                stream.execute(
                    f"SELECT to_jsonb({table}) AS said FROM {table} WHERE organisation_id = %s",  # noqa: S608
                    (organisation_id,),
                )
                for row in stream:
                    yield table, row["said"]


def _delete_batch(rows: "Rows", table: str, organisation_id: OrganisationId, limit: int) -> int:
    values = {"organisation": organisation_id, "limit": limit, "whose": ""}
    if table == "assistant_conversations":
        return remove_conversations(rows, going=_MINE, still="true", values=values)
    mine = _BY_DOCUMENT if table == "assistant_passages" else _MINE
    return delete_noted(rows, table, _BATCH.format(table=table, mine=mine), values)

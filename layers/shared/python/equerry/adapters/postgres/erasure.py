"""Erasing a person from every table, in one transaction of the platform role."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.domain.data_rules import DataRule, Erasure, list_rules
from equerry.domain.retention import ErasureRequest
from equerry.kernel.identifiers import UserId

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

_THEIRS = "(SELECT conversation_id FROM assistant_conversations WHERE created_by = %(user)s)"
_DELETE: dict[Erasure, str] = {
    "by_creator": "DELETE FROM {table} WHERE created_by = %(user)s",
    "with_conversation": "DELETE FROM {table} WHERE conversation_id IN {theirs}",
}
# What only they hold a key to goes; off what others may read too, their key goes.
_READ = {
    "assistant_passages": """
DELETE FROM assistant_passages WHERE visible_to <@ %(keys)s
    OR document_id IN (SELECT document_id FROM assistant_documents WHERE visible_to <@ %(keys)s)
""",
    "assistant_documents": "DELETE FROM assistant_documents WHERE visible_to <@ %(keys)s",
}
_UNLOCK = "UPDATE {table} SET visible_to = array_remove(visible_to, %(key)s) WHERE visible_to && %(keys)s"
_NOTES = (
    """
INSERT INTO assistant_disposals (kind, organisation_id, user_id, thing_id)
SELECT 'conversation', organisation_id, created_by, conversation_id::text
FROM assistant_conversations WHERE created_by = %(user)s
""",
    """
INSERT INTO assistant_disposals (kind, organisation_id, user_id, thing_id)
SELECT 'run', organisation_id, created_by, run_id::text FROM assistant_runs WHERE conversation_id IN {theirs}
""",
    # A worker that still holds a run may write once more before it learns that it has lost it.
    """
INSERT INTO assistant_disposals (kind, organisation_id, user_id, thing_id, due_at)
SELECT late.kind, run.organisation_id, run.created_by, late.thing_id, %(again)s
FROM assistant_runs AS run,
    LATERAL (VALUES ('run', run.run_id::text), ('conversation', run.conversation_id::text))
        AS late (kind, thing_id)
WHERE run.status <> 'ended' AND run.conversation_id IN {theirs}
""",
    """
INSERT INTO assistant_disposals (kind, organisation_id, user_id, thing_id)
SELECT 'document', organisation_id, %(user)s, corpus_id || '/' || document_id
FROM assistant_documents WHERE visible_to <@ %(keys)s
""",
    "INSERT INTO assistant_disposals (kind, organisation_id, user_id) VALUES ('person', '', %(user)s)",
)
_PROOF = """
UPDATE assistant_deletions SET removed = removed || jsonb_build_array(%(removed)s::jsonb) {ended}
WHERE kind = 'person' AND digest = %(digest)s AND request_id = %(request)s
"""


@dataclass(frozen=True, slots=True)
class PostgresErasureAdapter:
    """ErasurePort; needs connections of the platform role."""

    connections: PostgresConnections

    def begin(self, request: ErasureRequest, *, at: datetime) -> None:
        """See ErasurePort."""
        with self.connections.across_tenants() as rows:
            rows.execute(
                "INSERT INTO assistant_deletions (kind, digest, request_id, subject, started_at)"
                " VALUES ('person', %(digest)s, %(request)s, %(user)s, %(at)s) ON CONFLICT DO NOTHING",
                _identify(request) | {"at": at},
            )

    def list_unfinished(self) -> tuple[ErasureRequest, ...]:
        """See ErasurePort."""
        with self.connections.across_tenants() as rows:
            rows.execute(
                "SELECT subject, request_id FROM assistant_deletions"
                " WHERE kind = 'person' AND completed_at IS NULL ORDER BY started_at, digest"
            )
            return tuple(
                ErasureRequest(user_id=UserId(row["subject"]), request_id=row["request_id"])
                for row in rows.fetchall()
            )

    def erase_rows(self, request: ErasureRequest, *, again_at: datetime) -> Mapping[str, int]:
        """See ErasurePort."""
        key = f"user:{request.user_id}"
        values = _identify(request) | {"key": key, "keys": [key], "again": again_at}
        with self.connections.across_tenants() as rows:
            for note in _NOTES:
                rows.execute(note.format(theirs=_THEIRS), values)
            removed = _erase(rows, values)
            rows.execute(_PROOF.format(ended=""), values | {"removed": json.dumps(removed)})
        return removed

    def complete(self, request: ErasureRequest, removed: Mapping[str, int], *, at: datetime) -> None:
        """See ErasurePort."""
        with self.connections.across_tenants() as rows:
            rows.execute(
                _PROOF.format(ended=", completed_at = %(at)s, subject = NULL"),
                _identify(request) | {"removed": json.dumps(dict(removed)), "at": at},
            )


def _erase(rows: "Rows", values: Mapping[str, object]) -> dict[str, int]:
    """Remove in the order of the rules, and count what was removed or unlocked."""
    removed: dict[str, int] = {}
    for rule in list_rules("postgres"):
        for statement in _list_statements(rule):
            rows.execute(statement.format(table=rule.name, theirs=_THEIRS), values)
            removed[rule.name] = removed.get(rule.name, 0) + rows.rowcount
    return removed


def _list_statements(rule: DataRule) -> tuple[str, ...]:
    if rule.erased == "by_reader":
        return _READ[rule.name], _UNLOCK
    return (_DELETE[rule.erased],) if rule.erased in _DELETE else ()


def _identify(request: ErasureRequest) -> dict[str, object]:
    return {
        "user": request.user_id,
        "request": request.request_id,
        "digest": hashlib.sha256(request.user_id.encode()).hexdigest(),
    }

"""Erasing a person from every table, in one transaction of the platform role."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.removals import delete_noted
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
# What everybody may read is in no index of names, and names nobody.
_NAMED = "visible_to && %(keys)s AND visible_to <> ARRAY['organisation']"
# A publication holds its document while it writes passages that take over the document's readers.
_HOLD = f"SELECT FROM assistant_documents WHERE {_NAMED} FOR UPDATE"
# What only they hold a key to goes; off what others may read too, their key goes.
_THEIR_OWN = f"{_NAMED} AND visible_to <@ %(keys)s"
_THEIR_DOCUMENTS = f"SELECT document_id FROM assistant_documents WHERE {_THEIR_OWN}"  # noqa: S608
_READ = {
    "assistant_passages": (
        f"DELETE FROM assistant_passages WHERE {_THEIR_OWN}",  # noqa: S608  # our condition
        f"DELETE FROM assistant_passages WHERE document_id IN ({_THEIR_DOCUMENTS})",  # noqa: S608
    ),
    "assistant_documents": (f"DELETE FROM assistant_documents WHERE {_THEIR_OWN}",),  # noqa: S608
}
_UNLOCK = f"UPDATE {{table}} SET visible_to = array_remove(visible_to, %(key)s) WHERE {_NAMED}"  # noqa: S608
# Also what no row leads to any more: their part of the bucket, wherever they left anything.
_PERSON = """
INSERT INTO assistant_disposals (kind, organisation_id, user_id)
SELECT 'person', '', %(user)s
UNION ALL
SELECT 'person', organisation_id, %(user)s FROM (
    SELECT organisation_id FROM assistant_conversations WHERE created_by = %(user)s
    UNION SELECT organisation_id FROM assistant_actions WHERE created_by = %(user)s
    UNION SELECT organisation_id FROM assistant_usage WHERE created_by = %(user)s
) AS somewhere
"""
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
                " VALUES ('person', %(digest)s, %(request)s, %(user)s, %(at)s)"
                " ON CONFLICT (kind, digest, request_id) DO UPDATE"
                " SET subject = excluded.subject, completed_at = NULL",
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
        values = _identify(request) | {"key": key, "keys": [key], "whose": request.user_id}
        with self.connections.across_tenants() as rows:
            rows.execute(_HOLD, values)
            rows.execute(_PERSON, values)
            removed = _erase(rows, values, again_at)
            rows.execute(_PROOF.format(ended=""), values | {"removed": json.dumps(removed)})
        return removed

    def complete(self, request: ErasureRequest, removed: Mapping[str, int], *, at: datetime) -> None:
        """See ErasurePort."""
        with self.connections.across_tenants() as rows:
            rows.execute(
                _PROOF.format(ended=", completed_at = %(at)s, subject = NULL"),
                _identify(request) | {"removed": json.dumps(dict(removed)), "at": at},
            )


def _erase(rows: "Rows", values: Mapping[str, object], again_at: datetime) -> dict[str, int]:
    """Remove in the order of the rules, and count what was removed or unlocked."""
    removed: dict[str, int] = {}
    for rule in list_rules("postgres"):
        for statement in _list_deletions(rule):
            written = statement.format(table=rule.name, theirs=_THEIRS)
            gone = delete_noted(rows, rule.name, written, values, again_at=again_at)
            removed[rule.name] = removed.get(rule.name, 0) + gone
        if rule.erased == "by_reader":
            removed[rule.name] += rows.execute(_UNLOCK.format(table=rule.name), values).rowcount
    return removed


def _list_deletions(rule: DataRule) -> tuple[str, ...]:
    if rule.erased == "by_reader":
        return _READ[rule.name]
    return (_DELETE[rule.erased],) if rule.erased in _DELETE else ()


def _identify(request: ErasureRequest) -> dict[str, object]:
    return {
        "user": request.user_id,
        "request": request.request_id,
        "digest": hashlib.sha256(request.user_id.encode()).hexdigest(),
    }

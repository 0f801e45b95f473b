"""What an announced file means for its document: the statements behind DocumentPort.announce."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from equerry.domain.corpora import SourceFile, find_common_readers
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import CorpusId, DocumentId

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

_INSERT_CORPUS = """
INSERT INTO assistant_corpora (organisation_id, corpus_id) VALUES (%s, %s) ON CONFLICT DO NOTHING
"""
_INSERT = """
INSERT INTO assistant_documents
    (document_id, organisation_id, corpus_id, path, title, status, sha256, size_bytes, visible_to)
VALUES (%s, %s, %s, %s, %s, 'pending', %s, %s, %s)
ON CONFLICT DO NOTHING
"""
# In order of identity, so that two announcements of the same files never wait for each other.
_LOCK = (
    "SELECT * FROM assistant_documents WHERE document_id = ANY (%s::uuid[]) ORDER BY document_id FOR UPDATE"
)
_UPDATE = """
UPDATE assistant_documents
SET status = %s, sha256 = %s, size_bytes = %s, visible_to = %s, reason = NULL, updated_at = now()
WHERE document_id = %s
"""
_READERS = """
SELECT DISTINCT document_id, superseded_at IS NULL AS is_current, visible_to FROM assistant_passages
WHERE document_id = ANY (%s::uuid[])
"""
_UPDATE_READERS = """
UPDATE assistant_passages SET visible_to = %s
WHERE document_id = %s AND (superseded_at IS NULL) = %s AND visible_to = %s
"""

Files = dict[DocumentId, SourceFile]


def write_announcement(
    rows: "Rows", scope: Scope, corpus_id: CorpusId, files: Files, *, pipeline_version: str
) -> frozenset[DocumentId]:
    """Write the announcement in the caller's transaction; return the documents whose bytes are needed."""
    rows.execute(_INSERT_CORPUS, (scope.organisation_id, corpus_id))
    rows.executemany(_INSERT, list(_new_rows(scope, corpus_id, files)))
    rows.execute(_LOCK, (list(files),))
    documents = {DocumentId(str(row["document_id"])): row for row in rows.fetchall()}
    current = {
        identifier
        for identifier, row in documents.items()
        if _is_current(row, files[identifier], pipeline_version)
    }
    rows.executemany(
        _UPDATE,
        [
            _changes(identifier, files[identifier], is_current=identifier in current)
            for identifier, row in documents.items()
            if _is_stale(row, files[identifier], is_current=identifier in current)
        ],
    )
    _update_readers(rows, {key: row for key, row in documents.items() if row["version"]}, files)
    return frozenset(documents) - current


def _new_rows(scope: Scope, corpus_id: CorpusId, files: Files) -> Iterable[tuple[object, ...]]:
    for identifier, file in sorted(files.items()):
        named = (identifier, scope.organisation_id, corpus_id, file.path, file.path.rpartition("/")[2])
        yield (*named, file.sha256, file.size_bytes, list(file.visible_to))


def _is_current(row: dict[str, Any], file: SourceFile, pipeline_version: str) -> bool:
    published = (row["published_sha256"], row["published_pipeline"])
    return published == (file.sha256, pipeline_version)


def _is_stale(row: dict[str, Any], file: SourceFile, *, is_current: bool) -> bool:
    wanted = ("published" if is_current else "pending", file.sha256, list(file.visible_to))
    return (row["status"], row["sha256"], row["visible_to"]) != wanted


def _changes(identifier: DocumentId, file: SourceFile, *, is_current: bool) -> tuple[object, ...]:
    status = "published" if is_current else "pending"
    return (status, file.sha256, file.size_bytes, list(file.visible_to), identifier)


def _update_readers(rows: "Rows", published: dict[DocumentId, dict[str, Any]], files: Files) -> None:
    changed = [key for key, row in published.items() if _concerns_readers(row, files[key])]
    if not changed:
        return
    # An administrator announces for readers they may not be among; only the indexer sees those passages.
    rows.execute("SELECT set_config('app.role', 'indexer', true)")
    rows.execute(_READERS, (changed,))
    updates = []
    for group in rows.fetchall():
        identifier = DocumentId(str(group["document_id"]))
        wanted = _choose_readers(group, published[identifier], files[identifier])
        if wanted != group["visible_to"]:
            updates.append((wanted, identifier, group["is_current"], group["visible_to"]))
    rows.executemany(_UPDATE_READERS, updates)


def _concerns_readers(row: dict[str, Any], file: SourceFile) -> bool:
    return (row["sha256"], row["visible_to"]) != (file.sha256, list(file.visible_to))


def _choose_readers(group: dict[str, Any], row: dict[str, Any], file: SourceFile) -> list[str]:
    """Return who reads these passages now: the announced readers only if they hold the announced bytes."""
    if group["is_current"] and row["published_sha256"] == file.sha256:
        return list(file.visible_to)
    return list(find_common_readers(tuple(group["visible_to"]), file.visible_to))

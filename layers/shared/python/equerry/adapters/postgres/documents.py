"""Corpora, documents and their publication in PostgreSQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equerry.adapters.postgres.announcements import write_announcement
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.identifiers import as_uuid
from equerry.adapters.postgres.publication import write_publication
from equerry.adapters.postgres.vectors import parse_vector
from equerry.domain.corpora import CorpusSummary, Document, SourceFile, derive_document_id
from equerry.domain.principal import Scope
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import CorpusId, DocumentId, OrganisationId
from equerry.ports.documents import Announcement, Publication
from equerry.ports.embedding import Vector

_CORPORA = """
SELECT corpus.corpus_id, count(document.document_id) AS documents,
    coalesce(sum(document.passages), 0)::integer AS passages,
    count(*) FILTER (WHERE document.status = 'pending') AS pending,
    count(*) FILTER (WHERE document.status = 'failed') AS failed,
    coalesce(max(document.updated_at), min(corpus.created_at)) AS updated_at
FROM assistant_corpora AS corpus
LEFT JOIN assistant_documents AS document
    ON document.organisation_id = corpus.organisation_id AND document.corpus_id = corpus.corpus_id
    AND document.status <> 'deleted'
WHERE corpus.organisation_id = %s
GROUP BY corpus.corpus_id
HAVING %s OR count(document.document_id) > 0
ORDER BY corpus.corpus_id COLLATE "C"
"""
_WITHDRAW_PASSAGES = """
UPDATE assistant_passages SET withdrawn_at = now(), superseded_at = coalesce(superseded_at, now())
WHERE document_id = %s AND withdrawn_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class PostgresDocumentAdapter:
    """DocumentPort; a document's row is the lock under which its passages change."""

    connections: PostgresConnections

    def announce(
        self, scope: Scope, corpus_id: CorpusId, files: Sequence[SourceFile], *, pipeline_version: str
    ) -> tuple[Announcement, ...]:
        """See DocumentPort."""
        identities = [derive_document_id(scope.organisation_id, corpus_id, file.path) for file in files]
        announced = dict(zip(identities, files, strict=True))
        with self.connections.transaction(scope) as rows:
            changed = write_announcement(rows, scope, corpus_id, announced, pipeline_version=pipeline_version)
        return tuple(
            Announcement(document_id=identity, path=file.path, changed=identity in changed)
            for identity, file in zip(identities, files, strict=True)
        )

    def list_corpora(self, scope: Scope) -> tuple[CorpusSummary, ...]:
        """See DocumentPort."""
        with self.connections.transaction(scope) as rows:
            rows.execute(_CORPORA, (scope.organisation_id, scope.role == "admin"))
            return tuple(CorpusSummary(**row) for row in rows)

    def list_documents(
        self, scope: Scope, corpus_id: CorpusId, *, after: str | None, limit: int
    ) -> tuple[Document, ...]:
        """See DocumentPort."""
        # PostgreSQL takes no U+0000, and no path holds one: the same follow what precedes it.
        storable, _, _ = (after or "").partition("\0")
        with self.connections.transaction(scope) as rows:
            rows.execute(
                "SELECT 1 FROM assistant_corpora WHERE organisation_id = %s AND corpus_id = %s",
                (scope.organisation_id, corpus_id),
            )
            if rows.fetchone() is None:
                raise NotFound("there is no such corpus")
            rows.execute(
                "SELECT * FROM assistant_documents WHERE organisation_id = %s AND corpus_id = %s"
                " AND path > %s AND status <> 'deleted' ORDER BY path LIMIT %s",
                (scope.organisation_id, corpus_id, storable, limit),
            )
            return tuple(_document(row) for row in rows)

    def find_document(self, organisation_id: OrganisationId, document_id: DocumentId) -> Document | None:
        """See DocumentPort."""
        with self.connections.indexing(organisation_id) as rows:
            rows.execute(
                "SELECT * FROM assistant_documents WHERE document_id = %s",
                (as_uuid(document_id, name="document"),),
            )
            row = rows.fetchone()
            return _document(row) if row else None

    def find_vectors(
        self,
        organisation_id: OrganisationId,
        document_id: DocumentId,
        hashes: Sequence[str],
        *,
        embedding_version: str,
    ) -> Mapping[str, Vector]:
        """See DocumentPort."""
        with self.connections.indexing(organisation_id) as rows:
            rows.execute(
                "SELECT DISTINCT ON (hash) hash, embedding::text AS embedding FROM assistant_passages"
                " WHERE document_id = %s AND hash = ANY (%s) AND embedding_version = %s"
                " AND withdrawn_at IS NULL",
                (as_uuid(document_id, name="document"), list(hashes), embedding_version),
            )
            return {row["hash"]: parse_vector(row["embedding"]) for row in rows}

    def publish(self, organisation_id: OrganisationId, publication: Publication) -> bool:
        """See DocumentPort."""
        with self.connections.indexing(organisation_id) as rows:
            rows.execute(
                "SELECT * FROM assistant_documents WHERE document_id = %s FOR UPDATE",
                (as_uuid(publication.document_id, name="document"),),
            )
            document = rows.fetchone()
            if document is None or _is_overtaken(document, publication):
                return False
            if not _is_published(document, publication):
                write_publication(rows, document, publication)
            return True

    def fail(
        self, organisation_id: OrganisationId, document_id: DocumentId, *, sha256: str, reason: str
    ) -> None:
        """See DocumentPort."""
        with self.connections.indexing(organisation_id) as rows:
            rows.execute(
                "UPDATE assistant_documents SET status = 'failed', reason = %s, updated_at = now()"
                " WHERE document_id = %s AND sha256 = %s AND status IN ('pending', 'failed')",
                (reason, as_uuid(document_id, name="document"), sha256),
            )

    def withdraw(self, organisation_id: OrganisationId, document_id: DocumentId) -> bool:
        """See DocumentPort."""
        with self.connections.indexing(organisation_id) as rows:
            rows.execute(
                "UPDATE assistant_documents SET status = 'deleted', reason = NULL, passages = 0,"
                " embedded = 0, published_sha256 = NULL, published_pipeline = NULL, updated_at = now()"
                " WHERE document_id = %s AND status <> 'deleted'",
                (as_uuid(document_id, name="document"),),
            )
            if rows.rowcount == 0:
                return False
            rows.execute(_WITHDRAW_PASSAGES, (as_uuid(document_id, name="document"),))
            return True


def _is_overtaken(row: dict[str, Any], publication: Publication) -> bool:
    return bool(row["status"] == "deleted" or row["sha256"] != publication.sha256)


def _is_published(row: dict[str, Any], publication: Publication) -> bool:
    published = (row["status"], row["published_sha256"], row["published_pipeline"])
    return published == ("published", publication.sha256, publication.pipeline_version)


def _document(row: dict[str, Any]) -> Document:
    same = (
        *("corpus_id", "path", "title", "status", "sha256", "version"),
        *("passages", "embedded", "updated_at", "reason"),
    )
    return Document(
        document_id=DocumentId(str(row["document_id"])),
        visible_to=tuple(row["visible_to"]),
        **{name: row[name] for name in same},
    )

"""Corpora, documents, passages and their two indexes in memory, with the same rules as the database."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import RLock

from equerry.domain.corpora import (
    EVERYONE,
    Chunk,
    CorpusSummary,
    Document,
    Passage,
    SourceFile,
    derive_document_id,
    find_common_readers,
)
from equerry.domain.principal import Scope
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import CorpusId, DocumentId, OrganisationId, PassageId, derive_identifier
from equerry.ports.documents import Announcement, Publication
from equerry.ports.embedding import Vector

DocumentKey = tuple[OrganisationId, DocumentId]


@dataclass
class StoredPassage:
    """A passage with what only the store knows."""

    passage: Passage
    chunk: Chunk
    vector: Vector
    embedding_version: str
    visible_to: tuple[str, ...]
    superseded_at: datetime | None = None
    withdrawn: bool = False


@dataclass
class MemoryCorpora:
    """What the adapters below share, as the tables of one database would be."""

    corpora: dict[tuple[OrganisationId, CorpusId], datetime] = field(default_factory=dict)
    documents: dict[DocumentKey, Document] = field(default_factory=dict)
    published: dict[DocumentKey, tuple[str, str]] = field(default_factory=dict)
    passages: dict[DocumentKey, list[StoredPassage]] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)

    def readable(self, scope: Scope, corpora: tuple[CorpusId, ...] | None) -> list[StoredPassage]:
        """Current passages that the scope may read in these corpora; None stands for all."""
        with self.lock:
            return [
                stored
                for key, kept in self.passages.items()
                for stored in kept
                if stored.superseded_at is None
                and (corpora is None or stored.passage.corpus_id in corpora)
                and may_read(scope, key, stored.visible_to)
            ]


def show_passage(scope: Scope, stored: StoredPassage) -> Passage:
    """The passage, with the projects through which this reader sees it."""
    if {EVERYONE, f"user:{scope.user_id}"}.intersection(stored.visible_to):
        return stored.passage
    shared = (project for project in scope.project_ids if f"project:{project}" in stored.visible_to)
    return replace(stored.passage, project_ids=tuple(sorted(shared)))


def may_read(scope: Scope, key: DocumentKey, visible_to: tuple[str, ...]) -> bool:
    """Whether the scope holds one of these reader keys in the document's organisation."""
    held = {EVERYONE, f"user:{scope.user_id}", *(f"project:{project}" for project in scope.project_ids)}
    return key[0] == scope.organisation_id and not held.isdisjoint(visible_to)


@dataclass(frozen=True)
class MemoryDocumentAdapter:
    """DocumentPort in memory."""

    store: MemoryCorpora = field(default_factory=MemoryCorpora)

    def announce(
        self, scope: Scope, corpus_id: CorpusId, files: Sequence[SourceFile], *, pipeline_version: str
    ) -> tuple[Announcement, ...]:
        with self.store.lock:
            self.store.corpora.setdefault((scope.organisation_id, corpus_id), datetime.now(UTC))
            return tuple(self._announce(scope, corpus_id, file, pipeline_version) for file in files)

    def _announce(
        self, scope: Scope, corpus_id: CorpusId, file: SourceFile, pipeline_version: str
    ) -> Announcement:
        identity = derive_document_id(scope.organisation_id, corpus_id, file.path)
        key = (scope.organisation_id, identity)
        current = self.store.published.get(key) == (file.sha256, pipeline_version)
        known = self.store.documents.get(key) or _new_document(identity, corpus_id, file)
        self.store.documents[key] = replace(
            known,
            status="published" if current else "pending",
            sha256=file.sha256,
            visible_to=file.visible_to,
            reason=None,
            updated_at=datetime.now(UTC),
        )
        self._update_readers(key, file)
        return Announcement(document_id=identity, path=file.path, changed=not current)

    def _update_readers(self, key: DocumentKey, file: SourceFile) -> None:
        published_sha256, _ = self.store.published.get(key, (None, None))
        for stored in self.store.passages.get(key, []):
            if stored.superseded_at is None and published_sha256 == file.sha256:
                stored.visible_to = file.visible_to
            else:
                stored.visible_to = find_common_readers(stored.visible_to, file.visible_to)

    def list_corpora(self, scope: Scope) -> tuple[CorpusSummary, ...]:
        mine = sorted(
            (corpus, made)
            for (organisation, corpus), made in self.store.corpora.items()
            if organisation == scope.organisation_id
        )
        summaries = (
            _summarise(corpus, made, self._readable_documents(scope, corpus)) for corpus, made in mine
        )
        return tuple(summary for summary in summaries if summary.documents or scope.role == "admin")

    def list_documents(
        self, scope: Scope, corpus_id: CorpusId, *, after: str | None, limit: int
    ) -> tuple[Document, ...]:
        readable = self._readable_documents(scope, corpus_id)
        is_known = (scope.organisation_id, corpus_id) in self.store.corpora
        if not is_known or not (readable or scope.role == "admin"):
            raise NotFound("there is no such corpus")
        found = [document for document in readable if document.path > (after or "")]
        return tuple(sorted(found, key=lambda document: document.path.encode())[:limit])

    def _readable_documents(self, scope: Scope, corpus_id: CorpusId) -> list[Document]:
        return [
            document
            for key, document in self.store.documents.items()
            if key[0] == scope.organisation_id
            and document.corpus_id == corpus_id
            and document.status != "deleted"
            and (scope.role == "admin" or may_read(scope, key, document.visible_to))
        ]

    def find_document(self, organisation_id: OrganisationId, document_id: DocumentId) -> Document | None:
        return self.store.documents.get((organisation_id, document_id))

    def find_vectors(
        self,
        organisation_id: OrganisationId,
        document_id: DocumentId,
        hashes: Sequence[str],
        *,
        embedding_version: str,
    ) -> Mapping[str, Vector]:
        return {
            stored.chunk.hash: stored.vector
            for stored in self.store.passages.get((organisation_id, document_id), [])
            if stored.chunk.hash in hashes
            and stored.embedding_version == embedding_version
            and not stored.withdrawn
        }

    def publish(self, organisation_id: OrganisationId, publication: Publication) -> bool:
        key = (organisation_id, publication.document_id)
        with self.store.lock:
            document = self.store.documents.get(key)
            if document is None or document.status == "deleted" or document.sha256 != publication.sha256:
                return False
            made = (publication.sha256, publication.pipeline_version)
            if document.status == "published" and self.store.published.get(key) == made:
                return True
            published = replace(
                document,
                status="published",
                reason=None,
                title=publication.title,
                version=document.version + 1,
                passages=len(publication.chunks),
                embedded=publication.embedded,
                updated_at=datetime.now(UTC),
            )
            self._replace_passages(key, published, publication)
            self.store.documents[key] = published
            self.store.published[key] = made
            return True

    def _replace_passages(self, key: DocumentKey, document: Document, publication: Publication) -> None:
        kept = self.store.passages.setdefault(key, [])
        waiting = [stored for stored in kept if stored.superseded_at is None]
        for chunk, vector in zip(publication.chunks, publication.vectors, strict=True):
            same = next(
                (
                    stored
                    for stored in waiting
                    if (stored.chunk.hash, stored.embedding_version)
                    == (chunk.hash, publication.embedding_version)
                ),
                None,
            )
            if same:
                waiting.remove(same)
                same.chunk, same.passage = chunk, replace(same.passage, title=document.title)
                same.visible_to = document.visible_to
            else:
                kept.append(_store(document, publication, chunk, vector, len(kept)))
        for stored in waiting:
            stored.superseded_at = datetime.now(UTC)

    def fail(
        self, organisation_id: OrganisationId, document_id: DocumentId, *, sha256: str, reason: str
    ) -> None:
        key = (organisation_id, document_id)
        with self.store.lock:
            document = self.store.documents.get(key)
            if document and document.sha256 == sha256 and document.status in ("pending", "failed"):
                self.store.documents[key] = replace(document, status="failed", reason=reason)

    def withdraw(self, organisation_id: OrganisationId, document_id: DocumentId) -> bool:
        key = (organisation_id, document_id)
        with self.store.lock:
            document = self.store.documents.get(key)
            if document is None or document.status == "deleted":
                return False
            self.store.documents[key] = replace(
                document, status="deleted", reason=None, passages=0, embedded=0
            )
            self.store.published.pop(key, None)
            for stored in self.store.passages.get(key, []):
                stored.superseded_at = stored.superseded_at or datetime.now(UTC)
                stored.withdrawn = True
            return True


@dataclass(frozen=True)
class MemoryVectorStoreAdapter:
    """VectorStorePort in memory, by comparing everything."""

    store: MemoryCorpora = field(default_factory=MemoryCorpora)

    def find_nearest(
        self,
        scope: Scope,
        vector: Vector,
        *,
        embedding_version: str,
        corpora: tuple[CorpusId, ...] | None,
        limit: int,
    ) -> tuple[tuple[Passage, float], ...]:
        scored = [
            (show_passage(scope, stored), sum(a * b for a, b in zip(stored.vector, vector, strict=True)))
            for stored in self.store.readable(scope, corpora)
            if stored.embedding_version == embedding_version
        ]
        return tuple(sorted(scored, key=lambda pair: (-pair[1], pair[0].passage_id))[:limit])


@dataclass(frozen=True)
class MemoryLexicalIndexAdapter:
    """LexicalIndexPort in memory, by counting words."""

    store: MemoryCorpora = field(default_factory=MemoryCorpora)

    def find_matching(
        self, scope: Scope, query: str, *, corpora: tuple[CorpusId, ...] | None, limit: int
    ) -> tuple[tuple[Passage, float], ...]:
        wanted = _words(query)
        scored = [
            (
                show_passage(scope, stored),
                len(wanted & _words(" ".join(_parts(stored.passage)))) / max(len(wanted), 1),
            )
            for stored in self.store.readable(scope, corpora)
        ]
        found = [pair for pair in scored if pair[1] > 0]
        return tuple(sorted(found, key=lambda pair: (-pair[1], pair[0].passage_id))[:limit])


@dataclass(frozen=True)
class MemoryPassageAdapter:
    """PassagePort in memory."""

    store: MemoryCorpora = field(default_factory=MemoryCorpora)

    def fetch_passage(self, scope: Scope, passage_id: PassageId) -> Passage:
        for key, stored in self._all():
            if (
                stored.passage.passage_id == passage_id
                and not stored.withdrawn
                and may_read(scope, key, stored.visible_to)
            ):
                return show_passage(scope, stored)
        raise NotFound("there is no such passage")

    def _all(self) -> list[tuple[DocumentKey, StoredPassage]]:
        return [(key, stored) for key, kept in self.store.passages.items() for stored in kept]


def _new_document(identity: DocumentId, corpus_id: CorpusId, file: SourceFile) -> Document:
    return Document(
        document_id=identity,
        corpus_id=corpus_id,
        path=file.path,
        title=file.path.rpartition("/")[2],
        status="pending",
        sha256=file.sha256,
        visible_to=file.visible_to,
        version=0,
        passages=0,
        embedded=0,
        updated_at=datetime.now(UTC),
    )


def _store(
    document: Document, publication: Publication, chunk: Chunk, vector: Vector, place: int
) -> StoredPassage:
    passage = Passage(
        passage_id=derive_identifier(PassageId, document.document_id, str(document.version), str(place)),
        document_id=document.document_id,
        corpus_id=document.corpus_id,
        title=publication.title,
        heading_path=chunk.heading_path,
        text=chunk.text,
        source_path=document.path,
        version=document.version,
        token_count=chunk.token_count,
    )
    return StoredPassage(passage, chunk, vector, publication.embedding_version, document.visible_to)


def _summarise(corpus_id: CorpusId, made: datetime, documents: list[Document]) -> CorpusSummary:
    return CorpusSummary(
        corpus_id=corpus_id,
        documents=len(documents),
        passages=sum(document.passages for document in documents),
        pending=sum(document.status == "pending" for document in documents),
        failed=sum(document.status == "failed" for document in documents),
        updated_at=max((document.updated_at for document in documents), default=made),
    )


def _parts(passage: Passage) -> tuple[str, ...]:
    return (passage.title, *passage.heading_path, passage.text)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))

"""Documents, chunks and vectors for the contract suites, and one name for a whole set of adapters."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.search import (
    PostgresLexicalIndexAdapter,
    PostgresPassageAdapter,
    PostgresVectorStoreAdapter,
)
from equerry.domain.corpora import EVERYONE, Chunk, Passage, SourceFile
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import CorpusId, DocumentId
from equerry.ports.documents import DocumentPort, Publication
from equerry.ports.embedding import Vector
from equerry.ports.search import LexicalIndexPort, PassagePort, VectorStorePort

from tests.fakes.documents import (
    MemoryCorpora,
    MemoryDocumentAdapter,
    MemoryLexicalIndexAdapter,
    MemoryPassageAdapter,
    MemoryVectorStoreAdapter,
)

HANDBOOK = CorpusId("handbook")
PIPELINE = "extract-1/chunk-1/model-1"
EMBEDDING = "model-1"


@dataclass(frozen=True)
class Library:
    """Everything that reads or writes passages, over one store."""

    documents: DocumentPort
    vectors: VectorStorePort
    words: LexicalIndexPort
    passages: PassagePort

    def list_readable(self, scope: Scope, *, corpora: Sequence[str] = (HANDBOOK,)) -> list[Passage]:
        """Return every current passage the scope can reach through the semantic index."""
        found = self.vectors.find_nearest(
            scope,
            build_vector("anything"),
            embedding_version=EMBEDDING,
            corpora=tuple(CorpusId(corpus) for corpus in corpora),
            limit=500,
        )
        return sorted(
            (passage for passage, _ in found), key=lambda passage: (passage.source_path, passage.text)
        )

    def read_texts(self, scope: Scope, *, corpora: Sequence[str] = (HANDBOOK,)) -> list[str]:
        """Return the texts of `list_readable`."""
        return [passage.text for passage in self.list_readable(scope, corpora=corpora)]

    def find_vectors_of(self, scope: Scope, document_id: DocumentId, line: str) -> dict[str, Vector]:
        """Return the vector a document already has for a line, by its hash."""
        return dict(
            self.documents.find_vectors(
                scope.organisation_id, document_id, [hash_text(line)], embedding_version=EMBEDDING
            )
        )

    def search_texts(self, scope: Scope, query: str, *, limit: int = 50) -> list[str]:
        """Return the texts the lexical index finds, best first."""
        found = self.words.find_matching(scope, query, corpora=(HANDBOOK,), limit=limit)
        return [passage.text for passage, _ in found]


def open_library(request: pytest.FixtureRequest) -> Library:
    """Open the store that the fixture's parameter names."""
    if request.param == "memory":
        store = MemoryCorpora()
        return Library(
            MemoryDocumentAdapter(store),
            MemoryVectorStoreAdapter(store),
            MemoryLexicalIndexAdapter(store),
            MemoryPassageAdapter(store),
        )
    connections = request.getfixturevalue("connections")
    return Library(
        PostgresDocumentAdapter(connections),
        PostgresVectorStoreAdapter(connections),
        PostgresLexicalIndexAdapter(connections),
        PostgresPassageAdapter(connections),
    )


STORES = ["memory", pytest.param("postgres", marks=pytest.mark.postgres)]


def build_vector(text: str, *, dimensions: int = 384) -> Vector:
    """Return a unit vector that only this text has."""
    digest = hashlib.shake_256(text.encode()).digest(dimensions)
    numbers = [byte - 127.5 for byte in digest]
    length = math.sqrt(sum(number * number for number in numbers))
    return tuple(number / length for number in numbers)


def build_file(path: str, content: str, *, visible_to: tuple[str, ...] = (EVERYONE,)) -> SourceFile:
    """Return the announcement of a file with this content."""
    return SourceFile(
        path=path, sha256=hash_text(content), size_bytes=len(content.encode()), visible_to=visible_to
    )


def build_publication(
    document_id: DocumentId, content: str, *, title: str = "Handbook", pipeline: str = PIPELINE
) -> Publication:
    """Return the publication of a content: one chunk for each of its lines."""
    lines = [line for line in content.split("\n") if line.strip()]
    return Publication(
        document_id=document_id,
        sha256=hash_text(content),
        title=title,
        chunks=tuple(
            Chunk(
                ordinal=place,
                heading_path=("Part",),
                text=line,
                token_count=len(line.split()),
                hash=hash_text(line),
            )
            for place, line in enumerate(lines)
        ),
        vectors=tuple(build_vector(line) for line in lines),
        embedding_version=EMBEDDING,
        pipeline_version=pipeline,
        embedded=len(lines),
    )


def publish(
    library: Library,
    scope: Scope,
    path: str,
    content: str,
    *,
    corpus: CorpusId = HANDBOOK,
    visible_to: tuple[str, ...] = (EVERYONE,),
    title: str = "Handbook",
) -> DocumentId:
    """Announce and publish a document in one go."""
    file = build_file(path, content, visible_to=visible_to)
    (announced,) = library.documents.announce(scope, corpus, [file], pipeline_version=PIPELINE)
    publication = build_publication(announced.document_id, content, title=title)
    assert library.documents.publish(scope.organisation_id, publication)
    return announced.document_id


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()

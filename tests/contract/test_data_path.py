"""The data side whole: real files through the indexer's own parts into PostgreSQL and out of a search."""

from dataclasses import dataclass

import pytest
from equerry.adapters.embedded.minilm import MiniLmEmbeddingAdapter
from equerry.adapters.extraction.by_suffix import SuffixExtractionAdapter
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.search import PostgresLexicalIndexAdapter, PostgresVectorStoreAdapter
from equerry.domain.corpora import EVERYONE, Document, SourceFile
from equerry.domain.pipeline import LARGEST_DOCUMENT_BYTES, PIPELINE_VERSION
from equerry.domain.principal import Scope
from equerry.ports.uploads import UploadKey
from equerry.services.indexing import IndexingService
from equerry.services.retrieval import RetrievalService

from tests.contract.corpora import HANDBOOK, hash_text
from tests.contract.databases import build_scope, new_organisation
from tests.fakes.uploads import MemoryUploadAdapter

pytestmark = pytest.mark.postgres

KEYS = """# Signing keys

## Rotation

The signing key is replaced every ninety days. A new key is published first; tokens signed with the old one
stay valid until they expire.

## Loss

When a private key leaks, revoke it at once and tell the security desk.
"""
CANTEEN = (
    "<html><body><nav>Home</nav><main><h1>Canteen</h1>"
    "<p>Lunch is served from noon. Vegan dishes are marked green.</p></main></body></html>"
)
MERGER = "The board plans to merge with Lakeside in autumn. Do not speak of it."


@dataclass(frozen=True)
class DataSide:
    """Indexing and retrieval as the functions wire them, apart from the upload store."""

    uploads: MemoryUploadAdapter
    documents: PostgresDocumentAdapter
    indexing: IndexingService
    retrieval: RetrievalService
    admin: Scope

    def index(self, path: str, content: str, *, visible_to: tuple[str, ...] = (EVERYONE,)) -> bool:
        """Announce, upload and index; return whether bytes were wanted."""
        file = SourceFile(
            path=path, sha256=hash_text(content), size_bytes=len(content.encode()), visible_to=visible_to
        )
        (announced,) = self.documents.announce(
            self.admin, HANDBOOK, [file], pipeline_version=PIPELINE_VERSION
        )
        if announced.changed:
            key = UploadKey(
                organisation_id=self.admin.organisation_id,
                corpus_id=HANDBOOK,
                document_id=announced.document_id,
                sha256=file.sha256,
            )
            self.uploads.plant(key, content.encode())
            assert self.indexing.handle_upload(key) == "published"
        return announced.changed

    def find_document(self, path: str) -> Document:
        listed = self.documents.list_documents(self.admin, HANDBOOK, after=None, limit=10)
        return next(document for document in listed if document.path == path)


@pytest.fixture
def side(connections: PostgresConnections) -> DataSide:
    uploads, documents, embedding = (
        MemoryUploadAdapter(),
        PostgresDocumentAdapter(connections),
        MiniLmEmbeddingAdapter(),
    )
    return DataSide(
        uploads,
        documents,
        IndexingService(
            documents=documents,
            uploads=uploads,
            extraction=SuffixExtractionAdapter(),
            embedding=embedding,
            pipeline_version=PIPELINE_VERSION,
            limit_bytes=LARGEST_DOCUMENT_BYTES,
        ),
        RetrievalService(
            documents=documents,
            vectors=PostgresVectorStoreAdapter(connections),
            words=PostgresLexicalIndexAdapter(connections),
            embedding=embedding,
        ),
        build_scope(new_organisation(), "root", role="admin"),
    )


@pytest.mark.req("F-IDX-03", "F-IDX-06", "F-RET-04")
def test_a_question_in_other_words_finds_the_passage_that_answers_it(side: DataSide) -> None:
    side.index("keys.md", KEYS)
    side.index("canteen.html", CANTEEN)
    ada = build_scope(side.admin.organisation_id, "ada")

    found = side.retrieval.search(
        ada, "How often do we change the key that signs tokens?", corpora=None, limit=3
    )
    term = side.retrieval.lookup(ada, "vegan", corpora=None, limit=3)

    assert found.passages[0].heading_path == ("Rotation",)
    assert (found.passages[0].title, found.passages[0].source_path) == ("Signing keys", "keys.md")
    assert "every ninety days" in found.passages[0].text
    assert [passage.title for passage in term.passages] == ["Canteen"]


@pytest.mark.req("F-IDX-04")
def test_a_run_over_unchanged_files_wants_no_bytes_and_an_edit_embeds_one_chunk(side: DataSide) -> None:
    assert side.index("keys.md", KEYS)
    assert not side.index("keys.md", KEYS)

    side.index("keys.md", KEYS.replace("ninety", "sixty"))

    document = side.find_document("keys.md")
    assert (document.version, document.passages, document.embedded) == (2, 2, 1)


@pytest.mark.req("F-RPERM-09")
def test_who_may_not_read_a_document_learns_nothing_of_it(side: DataSide) -> None:
    side.index("keys.md", KEYS)
    side.index("merger.txt", MERGER, visible_to=("project:board",))
    organisation = side.admin.organisation_id
    question = "Who do we plan to merge with in autumn?"

    director = side.retrieval.search(
        build_scope(organisation, "dora", projects=("board",)), question, corpora=None, limit=5
    )
    outsiders = [
        side.retrieval.search(scope, question, corpora=None, limit=5)
        for scope in (
            build_scope(organisation, "ada"),
            side.admin,
            build_scope(new_organisation(), "dora", projects=("board",)),
        )
    ]

    assert director.passages[0].text == MERGER
    assert not any(passage.text == MERGER for found in outsiders for passage in found.passages)
    assert outsiders[2].searched == ()

"""Indexing: from an uploaded file to published passages, and every way it may not get there."""

from dataclasses import dataclass, field, replace

import pytest
from equerry.domain.chunking import count_words
from equerry.domain.corpora import EVERYONE, Document, SourceFile
from equerry.domain.principal import Scope
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import CorpusId, DocumentId, OrganisationId
from equerry.ports.uploads import UploadKey
from equerry.services.indexing import IndexingService

from tests.contract.corpora import hash_text
from tests.contract.databases import build_scope
from tests.fakes.documents import MemoryCorpora, MemoryDocumentAdapter, MemoryVectorStoreAdapter
from tests.fakes.embedding import MemoryEmbeddingAdapter
from tests.fakes.extraction import MemoryExtractionAdapter
from tests.fakes.uploads import MemoryUploadAdapter

HANDBOOK = CorpusId("handbook")
ADMIN = build_scope("acme", "root", role="admin")
READER = build_scope("acme", "ada")


@dataclass
class Desk:
    """The service over fakes, and what the owner of a file does around it."""

    store: MemoryCorpora = field(default_factory=MemoryCorpora)
    uploads: MemoryUploadAdapter = field(default_factory=MemoryUploadAdapter)
    embedding: MemoryEmbeddingAdapter = field(default_factory=MemoryEmbeddingAdapter)
    pipeline: str = "pipeline-1"
    limit_bytes: int = 10_000

    @property
    def documents(self) -> MemoryDocumentAdapter:
        return MemoryDocumentAdapter(self.store)

    @property
    def service(self) -> IndexingService:
        return IndexingService(
            documents=self.documents,
            uploads=self.uploads,
            extraction=MemoryExtractionAdapter(),
            embedding=self.embedding,
            pipeline_version=self.pipeline,
            limit_bytes=self.limit_bytes,
        )

    def announce(self, path: str, content: str, *, visible_to: tuple[str, ...] = (EVERYONE,)) -> UploadKey:
        file = SourceFile(
            path=path, sha256=hash_text(content), size_bytes=len(content.encode()), visible_to=visible_to
        )
        (entry,) = self.documents.announce(ADMIN, HANDBOOK, [file], pipeline_version=self.pipeline)
        return UploadKey(
            organisation_id=ADMIN.organisation_id,
            corpus_id=HANDBOOK,
            document_id=entry.document_id,
            sha256=file.sha256,
        )

    def upload(self, path: str, content: str, *, visible_to: tuple[str, ...] = (EVERYONE,)) -> UploadKey:
        key = self.announce(path, content, visible_to=visible_to)
        self.uploads.plant(key, content.encode())
        return key

    def document(self, key: UploadKey) -> Document:
        found = self.documents.find_document(key.organisation_id, key.document_id)
        assert found is not None
        return found

    def read(self, scope: Scope = READER) -> list[str]:
        found = MemoryVectorStoreAdapter(self.store).find_nearest(
            scope,
            self.embedding.embed_query("x"),
            embedding_version=self.embedding.version,
            corpora=(HANDBOOK,),
            limit=100,
        )
        return sorted(passage.text for passage, _ in found)


@pytest.mark.req("F-IDX-03")
def test_an_uploaded_file_becomes_readable_passages() -> None:
    desk = Desk()
    key = desk.upload("keys.md", "# Keys\nRotate yearly.\n# Locks\nLock the door.")

    assert desk.service.handle_upload(key) == "published"

    document = desk.document(key)
    assert desk.read() == ["Lock the door.", "Rotate yearly."]
    assert (document.status, document.title, document.version) == ("published", "keys", 1)
    assert (document.passages, document.embedded) == (2, 2)


@pytest.mark.req("F-IDX-04", "F-IDX-05")
def test_only_what_changed_is_embedded_again() -> None:
    desk = Desk()
    desk.service.handle_upload(desk.upload("keys.md", "# Keys\nRotate yearly.\n# Locks\nLock the door."))
    desk.embedding.embedded.clear()

    key = desk.upload("keys.md", "# Keys\nRotate monthly.\n# Locks\nLock the door.")
    desk.service.handle_upload(key)

    assert desk.embedding.embedded == ["keys > Keys\nRotate monthly."]
    assert desk.document(key).embedded == 1
    assert desk.read() == ["Lock the door.", "Rotate monthly."]


@pytest.mark.req("F-IDX-04")
def test_a_notice_delivered_again_embeds_nothing() -> None:
    desk = Desk()
    key = desk.upload("keys.md", "Rotate yearly.")
    desk.service.handle_upload(key)
    desk.embedding.embedded.clear()

    assert desk.service.handle_upload(key) == "unchanged"
    assert desk.embedding.embedded == []
    assert desk.document(key).version == 1


def test_a_new_pipeline_reuses_the_vectors_of_chunks_that_stay() -> None:
    desk = Desk()
    desk.service.handle_upload(desk.upload("keys.md", "Rotate yearly."))
    desk.embedding.embedded.clear()
    desk.pipeline = "pipeline-2"

    key = desk.upload("keys.md", "Rotate yearly.")

    assert desk.service.handle_upload(key) == "published"
    assert desk.embedding.embedded == []


def test_a_new_embedding_model_embeds_everything_again() -> None:
    desk = Desk()
    desk.service.handle_upload(desk.upload("keys.md", "Rotate yearly."))
    desk.pipeline, desk.embedding.version = "pipeline-2", "memory/2"
    desk.embedding.embedded.clear()

    desk.service.handle_upload(desk.upload("keys.md", "Rotate yearly."))

    assert len(desk.embedding.embedded) == 1
    assert desk.read() == ["Rotate yearly."]


def test_a_repeated_chunk_is_embedded_once() -> None:
    desk = Desk()
    desk.service.handle_upload(desk.upload("a.md", "# Same\nText.\n# Same\nText."))

    assert len(desk.embedding.embedded) == 1
    assert desk.read() == ["Text.", "Text."]


def test_an_upload_that_was_overtaken_is_ignored() -> None:
    desk = Desk()
    old = desk.upload("a.md", "old")
    new = desk.upload("a.md", "new")

    assert desk.service.handle_upload(old) == "ignored"
    assert desk.service.handle_upload(new) == "published"
    assert desk.read() == ["new"]


def test_a_file_nobody_announced_is_ignored() -> None:
    desk = Desk()
    stray = UploadKey(
        organisation_id=OrganisationId("acme"),
        corpus_id=HANDBOOK,
        document_id=DocumentId("unknown"),
        sha256=hash_text("x"),
    )
    desk.uploads.plant(stray, b"x")

    assert desk.service.handle_upload(stray) == "ignored"


@pytest.mark.parametrize(
    "stray", [{"corpus_id": CorpusId("other")}, {"organisation_id": OrganisationId("evil")}]
)
def test_a_key_that_names_another_corpus_or_organisation_is_ignored(stray: dict[str, str]) -> None:
    desk = Desk()
    key = replace(desk.upload("a.md", "text"), **stray)  # type: ignore[arg-type]  # a table of single fields
    desk.uploads.plant(key, b"text")

    assert desk.service.handle_upload(key) == "ignored"


def test_a_notice_whose_bytes_are_gone_is_ignored() -> None:
    desk = Desk()

    assert desk.service.handle_upload(desk.announce("a.md", "text")) == "ignored"


def test_an_unreadable_file_fails_with_a_reason_its_owner_understands() -> None:
    desk = Desk()
    key = desk.upload("photo.jpeg", "not text")

    assert desk.service.handle_upload(key) == "failed"

    document = desk.document(key)
    assert document.status == "failed"
    assert document.reason == "readable are .md, .txt"


def test_a_file_over_the_limit_fails_without_being_read() -> None:
    desk = Desk(limit_bytes=1_000_000)
    key = desk.upload("big.txt", "x" * 1_000_001)

    assert desk.service.handle_upload(key) == "failed"
    assert desk.document(key).reason == "the file is larger than 1 MB; split it into several"


def test_a_failed_version_leaves_the_one_before_readable() -> None:
    desk = Desk()
    desk.service.handle_upload(desk.upload("a.md", "good"))

    key = desk.upload("a.md", "bad \0 bytes")

    assert desk.service.handle_upload(key) == "failed"
    assert desk.read() == ["good"]


def test_a_model_that_does_not_answer_leaves_the_document_pending_for_the_next_attempt() -> None:
    desk = Desk()
    key = desk.upload("a.md", "text")
    desk.embedding.is_down = True

    with pytest.raises(Unavailable):
        desk.service.handle_upload(key)
    pending = desk.document(key).status
    desk.embedding.is_down = False

    assert pending == "pending"
    assert desk.service.handle_upload(key) == "published"


def test_after_the_last_attempt_the_owner_is_told() -> None:
    desk = Desk()
    key = desk.upload("a.md", "text")

    desk.service.give_up(key)

    assert desk.document(key).status == "failed"
    assert "upload it again" in (desk.document(key).reason or "")


@pytest.mark.req("F-IDX-08")
def test_a_removed_file_takes_its_document_out_of_the_index() -> None:
    desk = Desk()
    key = desk.upload("a.md", "text")
    desk.service.handle_upload(key)
    desk.uploads.delete_document(key.organisation_id, key.corpus_id, key.document_id)

    assert desk.service.handle_removal(key) == "withdrawn"
    assert desk.read() == []
    assert desk.service.handle_removal(key) == "ignored"


def test_the_removal_of_an_older_version_changes_nothing() -> None:
    desk = Desk()
    old = desk.upload("a.md", "old")
    desk.service.handle_upload(old)
    desk.service.handle_upload(desk.upload("a.md", "new"))

    assert desk.service.handle_removal(old) == "ignored"
    assert desk.read() == ["new"]


def test_a_removal_that_arrives_after_the_file_came_back_changes_nothing() -> None:
    desk = Desk()
    key = desk.upload("a.md", "text")
    desk.service.handle_upload(key)
    desk.documents.withdraw(key.organisation_id, key.document_id)
    desk.uploads.delete_document(key.organisation_id, key.corpus_id, key.document_id)

    desk.announce("a.md", "text")
    assert desk.service.handle_removal(key) == "ignored"
    desk.uploads.plant(key, b"text")
    desk.service.handle_upload(key)

    assert desk.service.handle_removal(key) == "ignored"
    assert desk.read() == ["text"]


@pytest.mark.req("F-CHUNK-06")
def test_passages_have_the_readers_of_their_document() -> None:
    desk = Desk()
    desk.service.handle_upload(desk.upload("a.md", "# A\nplan\n# B\nbudget", visible_to=("user:ben",)))

    assert desk.read() == []
    assert desk.read(build_scope("acme", "ben")) == ["budget", "plan"]


def test_a_document_of_more_passages_than_allowed_fails_and_says_so() -> None:
    desk = Desk(limit_bytes=10_000_000)
    content = " ".join(f"word{number}" for number in range(180 * 4001))
    assert count_words(content) > 180 * 4000
    key = desk.upload("long.txt", content)

    assert desk.service.handle_upload(key) == "failed"
    assert "too long" in (desk.document(key).reason or "")
    assert desk.embedding.embedded == []

"""Indexing: an uploaded file becomes a published document, or the document says why it cannot."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from equerry.domain.chunking import chunk_sections, describe_chunk
from equerry.domain.corpora import Chunk, Document
from equerry.kernel.errors import NotFound, TooLarge
from equerry.ports.documents import DocumentPort, Publication
from equerry.ports.embedding import EmbeddingPort, Vector
from equerry.ports.extraction import ExtractionPort, UnreadableDocument
from equerry.ports.uploads import UploadKey, UploadPort

IndexingOutcome = Literal["published", "unchanged", "ignored", "failed", "withdrawn"]
"""published  readers see the new content
unchanged  it was published already
ignored    something newer was announced, or the document is gone: nothing to do
failed     the document says why its newest content cannot be published
withdrawn  readers see it no more
"""

LARGEST_PASSAGES = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexingService:
    """Keeps the indexes in step with what lies in the upload store; every call is safe to repeat.

    Attributes:
        pipeline_version: of extraction, chunking and embedding together.
        limit_bytes: largest file that is read.
    """

    documents: DocumentPort
    uploads: UploadPort
    extraction: ExtractionPort
    embedding: EmbeddingPort
    pipeline_version: str
    limit_bytes: int

    def handle_upload(self, key: UploadKey) -> IndexingOutcome:
        """Publish what was uploaded under `key`, if that is still what the document should hold.

        Raises:
            Unavailable: a store or the model did not answer; nothing was changed.
        """
        document = self.documents.find_document(key.organisation_id, key.document_id)
        if document is None or not _is_wanted(document, key):
            return "ignored"
        if document.status == "published":
            return "unchanged"
        try:
            publication = self._prepare(document, key)
        except (UnreadableDocument, TooLarge) as refusal:
            return self._fail(key, str(refusal))
        except NotFound:
            return "ignored"
        return "published" if self.documents.publish(key.organisation_id, publication) else "ignored"

    def handle_removal(self, key: UploadKey) -> IndexingOutcome:
        """Withdraw the document whose content was removed; a notice that is out of date changes nothing.

        Raises:
            Unavailable: a store did not answer; nothing was changed.
        """
        document = self.documents.find_document(key.organisation_id, key.document_id)
        if document is None or not _is_wanted(document, key) or document.status == "pending":
            return "ignored"
        if self._is_staged(key):
            return "ignored"
        return "withdrawn" if self.documents.withdraw(key.organisation_id, key.document_id) else "ignored"

    def give_up(self, key: UploadKey) -> None:
        """Tell the document's owner that we failed to index it, after the last attempt."""
        self._fail(
            key,
            "We could not index this file. It has been set aside for inspection; upload it again to retry.",
        )

    def _prepare(self, document: Document, key: UploadKey) -> Publication:
        content = self._fetch(key)
        title, sections = self.extraction.extract(content, path=document.path)
        chunks = chunk_sections(title, sections)
        if len(chunks) > LARGEST_PASSAGES:
            raise TooLarge(
                f"the document is too long: {len(chunks)} passages, {LARGEST_PASSAGES} are allowed; split it"
            )
        vectors, embedded = self._embed(key, title, chunks)
        return Publication(
            document_id=key.document_id,
            sha256=key.sha256,
            title=title,
            chunks=chunks,
            vectors=vectors,
            embedding_version=self.embedding.version,
            pipeline_version=self.pipeline_version,
            embedded=embedded,
        )

    def _fetch(self, key: UploadKey) -> bytes:
        try:
            return self.uploads.fetch_upload(key, limit_bytes=self.limit_bytes)
        except TooLarge:
            # The store's own message names its key, which means nothing to the document's owner.
            raise TooLarge(
                f"the file is larger than {self.limit_bytes // 1_000_000} MB; split it into several"
            ) from None

    def _embed(self, key: UploadKey, title: str, chunks: Sequence[Chunk]) -> tuple[tuple[Vector, ...], int]:
        """Return each chunk's vector, and how many had to be computed."""
        hashes = list(dict.fromkeys(chunk.hash for chunk in chunks))
        known = dict(
            self.documents.find_vectors(
                key.organisation_id, key.document_id, hashes, embedding_version=self.embedding.version
            )
        )
        new = {chunk.hash: describe_chunk(title, chunk) for chunk in chunks if chunk.hash not in known}
        known |= zip(new, self.embedding.embed_passages(list(new.values())), strict=True)
        return tuple(known[chunk.hash] for chunk in chunks), len(new)

    def _is_staged(self, key: UploadKey) -> bool:
        """Whether bytes lie under the key (again); asked with a limit of nothing, so that none are sent."""
        try:
            self.uploads.fetch_upload(key, limit_bytes=0)
        except NotFound:
            return False
        except TooLarge:
            return True
        return True

    def _fail(self, key: UploadKey, reason: str) -> IndexingOutcome:
        self.documents.fail(key.organisation_id, key.document_id, sha256=key.sha256, reason=reason)
        return "failed"


def _is_wanted(document: Document, key: UploadKey) -> bool:
    return (
        document.status != "deleted" and document.corpus_id == key.corpus_id and document.sha256 == key.sha256
    )

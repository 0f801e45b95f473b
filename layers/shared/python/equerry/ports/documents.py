"""The truth about corpora and documents, and the only way passages get published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from equerry.domain.corpora import Chunk, CorpusSummary, Document, SourceFile
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import CorpusId, DocumentId, OrganisationId
from equerry.kernel.kinds import message, result
from equerry.ports.embedding import Vector


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What became of an announced file; `changed` False means that its bytes need not be sent."""

    document_id: DocumentId
    path: str
    changed: bool


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A document's new content, whole.

    Attributes:
        sha256: of the file the chunks were made from; a publication of anything but the document's
            newest announcement is ignored.
        vectors: one for each chunk, in order.
        pipeline_version: of what made the chunks and vectors; a later announcement compares it.
        embedded: how many of the vectors were computed rather than reused.
    """

    document_id: DocumentId
    sha256: str
    title: str
    chunks: tuple[Chunk, ...]
    vectors: tuple[Vector, ...]
    embedding_version: str
    pipeline_version: str
    embedded: int


class DocumentPort(Protocol):
    """Corpora and documents."""

    def announce(
        self, scope: Scope, corpus_id: CorpusId, files: Sequence[SourceFile], *, pipeline_version: str
    ) -> tuple[Announcement, ...]:
        """Record that these files are the documents' newest content; in order of `files`.

        Creates the corpus on first use. A file is unchanged when a published document has the same path,
        hash and `pipeline_version`. A deleted document announced again comes back as pending.

        Who loses a document by `visible_to` loses every passage of it at once, superseded ones included,
        before anything is uploaded. Who gains it gains the published passages at once only if their bytes
        are the announced ones; else they wait for the publication, and until then only readers named both
        before and now read the old passages: nobody, if no key is in both. Superseded passages gain none.
        """
        ...

    def list_corpora(self, scope: Scope) -> tuple[CorpusSummary, ...]:
        """Return the corpora in which the scope may read something (an administrator: all), by id."""
        ...

    def list_documents(
        self, scope: Scope, corpus_id: CorpusId, *, after: str | None, limit: int
    ) -> tuple[Document, ...]:
        """Return documents whose path is after `after`, by path; deleted ones are left out.

        Raises:
            NotFound: no such corpus in this organisation, or none in which the scope may read something.
        """
        ...

    def find_document(self, organisation_id: OrganisationId, document_id: DocumentId) -> Document | None:
        """Return the document for the indexer, whoever may read it."""
        ...

    def find_vectors(
        self,
        organisation_id: OrganisationId,
        document_id: DocumentId,
        hashes: Sequence[str],
        *,
        embedding_version: str,
    ) -> Mapping[str, Vector]:
        """Return vectors this document's earlier versions already have, by chunk hash."""
        ...

    def publish(self, organisation_id: OrganisationId, publication: Publication) -> bool:
        """Replace the document's passages in one transaction; the new ones take the announced reader keys.

        A passage whose chunk is unchanged stays, with its identity and the version it first appeared in.

        Returns False, changing nothing, if the document was deleted or announced anew meanwhile.
        Repeating a publication that has happened changes nothing and returns True.
        """
        ...

    def fail(
        self, organisation_id: OrganisationId, document_id: DocumentId, *, sha256: str, reason: str
    ) -> None:
        """Record why the newest content cannot be published; what was published before stays readable."""
        ...

    def withdraw(self, organisation_id: OrganisationId, document_id: DocumentId) -> bool:
        """Take the document and all its passages out of every index at once; False if it was not there."""
        ...

"""Documents as their organisation's administrators manage them, and passages as readers open them."""

from collections.abc import Sequence
from dataclasses import dataclass

from equerry.domain.corpora import CorpusSummary, Document, Passage, SourceFile
from equerry.domain.principal import Principal
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import CorpusId, DocumentId, PassageId
from equerry.kernel.kinds import result
from equerry.ports.documents import DocumentPort
from equerry.ports.search import PassagePort
from equerry.ports.uploads import SignedUpload, UploadKey, UploadPort

DOCUMENTS_PAGE = 200


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class UploadInvitation:
    """What to do with an announced file: send its bytes to `upload`, or nothing."""

    document_id: DocumentId
    path: str
    upload: SignedUpload | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentService:
    """Takes announcements of files, shows what became of them, and withdraws documents."""

    documents: DocumentPort
    passages: PassagePort
    uploads: UploadPort
    pipeline_version: str

    def announce(
        self, principal: Principal, corpus_id: CorpusId, files: Sequence[SourceFile]
    ) -> tuple[UploadInvitation, ...]:
        """Announce files and return, in their order, where to send the changed ones.

        Raises:
            AdminRequired: the principal is no administrator.
        """
        principal.require_admin()
        announced = self.documents.announce(
            principal.scope, corpus_id, files, pipeline_version=self.pipeline_version
        )
        return tuple(
            UploadInvitation(
                document_id=entry.document_id,
                path=entry.path,
                upload=self._sign(principal, corpus_id, entry.document_id, file) if entry.changed else None,
            )
            for entry, file in zip(announced, files, strict=True)
        )

    def list_corpora(self, principal: Principal) -> tuple[CorpusSummary, ...]:
        """Return what the principal can search."""
        return self.documents.list_corpora(principal.scope)

    def list_documents(
        self, principal: Principal, corpus_id: CorpusId, *, after: str | None
    ) -> tuple[Document, ...]:
        """Return up to 200 documents by path; AdminRequired or NotFound as their names say."""
        principal.require_admin()
        return self.documents.list_documents(principal.scope, corpus_id, after=after, limit=DOCUMENTS_PAGE)

    def withdraw(self, principal: Principal, corpus_id: CorpusId, document_id: DocumentId) -> None:
        """Take a document out of every index at once, then delete its staged bytes.

        Raises:
            AdminRequired: the principal is no administrator.
            NotFound: no such document in this corpus of the organisation.
        """
        principal.require_admin()
        organisation_id = principal.scope.organisation_id
        document = self.documents.find_document(organisation_id, document_id)
        if document is None or document.corpus_id != corpus_id or document.status == "deleted":
            raise NotFound("there is no such document in this corpus")
        self.documents.withdraw(organisation_id, document_id)
        self.uploads.delete_document(organisation_id, corpus_id, document_id)

    def fetch_passage(self, principal: Principal, passage_id: PassageId) -> Passage:
        """Return the passage behind a citation; NotFound if it is not the principal's to read."""
        return self.passages.fetch_passage(principal.scope, passage_id)

    def _sign(
        self, principal: Principal, corpus_id: CorpusId, document_id: DocumentId, file: SourceFile
    ) -> SignedUpload:
        key = UploadKey(
            organisation_id=principal.scope.organisation_id,
            corpus_id=corpus_id,
            document_id=document_id,
            sha256=file.sha256,
        )
        return self.uploads.sign_upload(key, file)

"""Corpora, documents and passages."""

from dataclasses import dataclass

from equerry.domain.corpora import EVERYONE, Document, SourceFile, parse_corpus_id, parse_reader_keys
from equerry.kernel.errors import InvalidInput
from equerry.kernel.identifiers import CorpusId, DocumentId, PassageId, parse_identifier
from equerry.services.documents import DOCUMENTS_PAGE, DocumentService, UploadInvitation
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest
from equerry.surfaces.http.models import (
    CorpusAnswer,
    CorpusList,
    DocumentAnswer,
    DocumentList,
    FileRequest,
    PassageAnswer,
    UploadAnswer,
    UploadList,
    UploadRequest,
)
from equerry.surfaces.http.routing import Parameter, Route

_LONGEST_PATH_BYTES = 1024
"""As long as an object's key may be; the database's index of paths holds 2,700."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRoutes:
    """Routes under /corpora and /passages."""

    documents: DocumentService

    def build(self) -> tuple[Route, ...]:
        """Return the routes."""
        one = "/corpora/{corpusId}"
        cursor = Parameter(name="cursor", description="From the page before; none for the first.")
        return (
            Route(
                method="GET",
                path="/corpora",
                operation="listCorpora",
                summary="What you can search",
                handle=self.list_corpora,
                answer=CorpusList,
            ),
            Route(
                method="POST",
                path=f"{one}/uploads",
                operation="announceFiles",
                summary="Announce files and learn which to upload, and where",
                handle=self.announce,
                request=UploadRequest,
                answer=UploadList,
                failures=(403,),
            ),
            Route(
                method="GET",
                path=f"{one}/documents",
                operation="listDocuments",
                summary="A corpus's documents and what became of them",
                handle=self.list_documents,
                answer=DocumentList,
                query=(cursor,),
                failures=(403, 404),
            ),
            Route(
                method="DELETE",
                path=f"{one}/documents/{{documentId}}",
                operation="deleteDocument",
                summary="Withdraw a document from every index",
                handle=self.withdraw,
                status=202,
                failures=(403, 404),
            ),
            Route(
                method="GET",
                path="/passages/{passageId}",
                operation="getPassage",
                summary="The passage behind a citation",
                handle=self.fetch_passage,
                answer=PassageAnswer,
                failures=(404,),
            ),
        )

    def list_corpora(self, request: HttpRequest) -> HttpAnswer:
        """GET /corpora."""
        found = self.documents.list_corpora(request.principal)
        listed = [CorpusAnswer.model_validate(corpus) for corpus in found]
        return HttpAnswer(status=200, body=CorpusList(corpora=listed))

    def announce(self, request: HttpRequest) -> HttpAnswer:
        """POST /corpora/{corpusId}/uploads."""
        asked = request.read_body(UploadRequest)
        files = tuple(_decode_file(file) for file in asked.files)
        if len({file.path for file in files}) != len(files):
            raise InvalidInput("files names a path twice", field="files")
        invited = self.documents.announce(request.principal, _corpus_id(request), files)
        return HttpAnswer(status=200, body=UploadList(uploads=[_encode_upload(entry) for entry in invited]))

    def list_documents(self, request: HttpRequest) -> HttpAnswer:
        """GET /corpora/{corpusId}/documents?cursor=."""
        found = self.documents.list_documents(
            request.principal, _corpus_id(request), after=request.query.get("cursor")
        )
        answer = DocumentList(
            documents=[_encode_document(document) for document in found],
            cursor=found[-1].path if len(found) == DOCUMENTS_PAGE else None,
        )
        return HttpAnswer(status=200, body=answer)

    def withdraw(self, request: HttpRequest) -> HttpAnswer:
        """DELETE /corpora/{corpusId}/documents/{documentId}."""
        document_id = parse_identifier(DocumentId, request.path["documentId"], name="documentId")
        self.documents.withdraw(request.principal, _corpus_id(request), document_id)
        return HttpAnswer(status=202)

    def fetch_passage(self, request: HttpRequest) -> HttpAnswer:
        """GET /passages/{passageId}."""
        passage_id = parse_identifier(PassageId, request.path["passageId"], name="passageId")
        passage = self.documents.fetch_passage(request.principal, passage_id)
        answer = PassageAnswer(
            passage_id=passage.passage_id,
            document_id=passage.document_id,
            corpus_id=passage.corpus_id,
            title=passage.title,
            heading_path=list(passage.heading_path),
            text=passage.text,
            source_path=passage.source_path,
            version=passage.version,
        )
        return HttpAnswer(status=200, body=answer)


def _corpus_id(request: HttpRequest) -> CorpusId:
    return parse_corpus_id(request.path["corpusId"])


def _decode_file(file: FileRequest) -> SourceFile:
    parts = file.path.split("/")
    if "\\" in file.path or "\x00" in file.path or any(part in ("", ".", "..") for part in parts):
        raise InvalidInput(
            f"a file's path must be relative, with '/' and without '.' or '..', got {file.path[:80]!r}",
            field="path",
        )
    if (length := len(file.path.encode())) > _LONGEST_PATH_BYTES:
        raise InvalidInput(
            f"a file's path must have at most {_LONGEST_PATH_BYTES} bytes in UTF-8, got {length}",
            field="path",
        )
    keys = (EVERYONE,) if file.visible_to is None else tuple(file.visible_to)
    return SourceFile(
        path=file.path, sha256=file.sha256, size_bytes=file.size_bytes, visible_to=parse_reader_keys(keys)
    )


def _encode_upload(entry: UploadInvitation) -> UploadAnswer:
    return UploadAnswer(
        path=entry.path,
        document_id=entry.document_id,
        action="upload" if entry.upload else "unchanged",
        url=entry.upload.url if entry.upload else None,
        headers=dict(entry.upload.headers) if entry.upload else None,
    )


def _encode_document(document: Document) -> DocumentAnswer:
    return DocumentAnswer.model_validate(document, extra="ignore")

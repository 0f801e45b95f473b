"""Where documents wait between their owner and the indexer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from equerry.domain.corpora import SourceFile
from equerry.kernel.identifiers import CorpusId, DocumentId, OrganisationId
from equerry.kernel.kinds import result, value


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class UploadKey:
    """Where one version of a document's bytes lies: corpora/{organisation}/{corpus}/{document}/{sha256}."""

    organisation_id: OrganisationId
    corpus_id: CorpusId
    document_id: DocumentId
    sha256: str

    def __str__(self) -> str:
        return f"corpora/{self.organisation_id}/{self.corpus_id}/{self.document_id}/{self.sha256}"

    @classmethod
    def parse(cls, text: str) -> "UploadKey":
        """Read a key.

        Raises:
            ValueError: not of this form.
        """
        match text.split("/"):
            case ["corpora", organisation, corpus, document, sha256] if all(
                (organisation, corpus, document, sha256)
            ):
                return cls(
                    organisation_id=OrganisationId(organisation),
                    corpus_id=CorpusId(corpus),
                    document_id=DocumentId(document),
                    sha256=sha256,
                )
        raise ValueError(f"not an upload key: {text!r}")


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class SignedUpload:
    """A PUT that its holder may make once for the stated bytes; `headers` must be sent as given."""

    url: str
    headers: Mapping[str, str]


class UploadPort(Protocol):
    """Staged bytes."""

    def sign_upload(self, key: UploadKey, file: SourceFile) -> SignedUpload:
        """Return a signed PUT, valid for 15 minutes, that accepts only the announced hash."""
        ...

    def fetch_upload(self, key: UploadKey, *, limit_bytes: int) -> bytes:
        """Return the bytes.

        Raises:
            NotFound: nothing was uploaded under this key, or it was deleted.
            TooLarge: more than `limit_bytes`; nothing was read.
        """
        ...

    def delete_document(
        self, organisation_id: OrganisationId, corpus_id: CorpusId, document_id: DocumentId
    ) -> None:
        """Delete every staged version of a document; nothing there is not an error."""
        ...

"""Staged bytes, in memory."""

import base64
import hashlib
import threading
from dataclasses import dataclass

from equerry.domain.corpora import SourceFile
from equerry.kernel.clock import Clock
from equerry.kernel.errors import NotFound, TooLarge
from equerry.kernel.identifiers import CorpusId, DocumentId, OrganisationId
from equerry.ports.uploads import SignedUpload, UploadKey

from tests.fakes.clock import FixedClock

VALID_FOR_S = 900.0


@dataclass(frozen=True, slots=True)
class _Signed:
    key: UploadKey
    file: SourceFile
    until_s: float


class MemoryUploadAdapter:
    """UploadPort over dictionaries; `put` is what the owner of a file does with a signed upload."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or FixedClock()
        self._signed: dict[str, _Signed] = {}
        self._staged: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def sign_upload(self, key: UploadKey, file: SourceFile) -> SignedUpload:
        if key.sha256 != file.sha256 or len(bytes.fromhex(file.sha256)) != 32:
            raise ValueError(f"the key is for {key.sha256!r}, the file has {file.sha256!r}")
        with self._lock:
            url = f"memory://uploads/{key}?{len(self._signed)}"
            self._signed[url] = _Signed(key, file, self._clock.monotonic_s() + VALID_FOR_S)
        return SignedUpload(url=url, headers={"x-amz-checksum-sha256": _checksum(file.sha256)})

    def fetch_upload(self, key: UploadKey, *, limit_bytes: int) -> bytes:
        with self._lock:
            content = self._staged.get(str(key))
        if content is None:
            raise NotFound(f"nothing was uploaded as {key}")
        if len(content) > limit_bytes:
            raise TooLarge(f"{key} has {len(content)} bytes, {limit_bytes} are allowed")
        if hashlib.sha256(content).hexdigest() != key.sha256:
            raise NotFound(f"what lies at {key} is not what was announced")
        return content

    def delete_document(
        self, organisation_id: OrganisationId, corpus_id: CorpusId, document_id: DocumentId
    ) -> None:
        prefix = f"corpora/{organisation_id}/{corpus_id}/{document_id}/"
        with self._lock:
            for name in [name for name in self._staged if name.startswith(prefix)]:
                del self._staged[name]

    def put(self, upload: SignedUpload, content: bytes) -> int:
        """Upload as the holder of a signed upload would; return the status of the answer."""
        with self._lock:
            signed = self._signed[upload.url]
            if self._clock.monotonic_s() > signed.until_s or len(content) != signed.file.size_bytes:
                return 403
            sent = upload.headers.get("x-amz-checksum-sha256")
            if sent != _checksum(signed.file.sha256):
                return 403
            if sent != _checksum(hashlib.sha256(content).hexdigest()):
                return 400
            self._staged[str(signed.key)] = content
            return 200

    def plant(self, key: UploadKey, content: bytes) -> None:
        """Put bytes there unchecked."""
        with self._lock:
            self._staged[str(key)] = content


def _checksum(sha256: str) -> str:
    return base64.b64encode(bytes.fromhex(sha256)).decode()

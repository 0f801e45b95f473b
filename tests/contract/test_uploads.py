"""UploadPort: over memory and over S3."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
import requests
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.uploads import S3UploadAdapter
from equerry.domain.corpora import SourceFile
from equerry.kernel.errors import NotFound, TooLarge
from equerry.kernel.identifiers import CorpusId, DocumentId, OrganisationId
from equerry.ports.uploads import SignedUpload, UploadKey, UploadPort

from tests.contract.aws_backends import BACKENDS, new_name, start_aws
from tests.fakes.uploads import MemoryUploadAdapter

BODY = "# Übersicht\n".encode()
SHA = hashlib.sha256(BODY).hexdigest()
KEY = UploadKey(
    organisation_id=OrganisationId("auth0|acme"),
    corpus_id=CorpusId("handbook"),
    document_id=DocumentId("d-1"),
    sha256=SHA,
)
FILE = SourceFile(path="a/b.md", sha256=SHA, size_bytes=len(BODY))


@dataclass(frozen=True)
class Uploads:
    port: UploadPort
    put: Callable[[SignedUpload, bytes], int]
    plant: Callable[[UploadKey, bytes], None]
    checks: bool


@pytest.fixture(params=["memory", *BACKENDS])
def uploads(request: pytest.FixtureRequest) -> Iterator[Uploads]:
    if request.param == "memory":
        memory = MemoryUploadAdapter()
        yield Uploads(memory, memory.put, memory.plant, checks=True)
        return
    with start_aws(request.param) as clients:
        # moto keeps whatever it is sent; the emulator checks signatures and checksums as S3 does.
        yield _s3(clients, checks=request.param == "emulator")


def _s3(clients: AwsClients, *, checks: bool) -> Uploads:
    bucket = new_name()
    clients.s3.create_bucket(Bucket=bucket)

    def put(upload: SignedUpload, content: bytes) -> int:
        return requests.put(upload.url, data=content, headers=dict(upload.headers), timeout=5).status_code

    def plant(key: UploadKey, content: bytes) -> None:
        clients.s3.put_object(Bucket=bucket, Key=str(key), Body=content)

    return Uploads(S3UploadAdapter(clients.s3, bucket), put, plant, checks)


def test_what_was_uploaded_comes_back(uploads: Uploads) -> None:
    status = uploads.put(uploads.port.sign_upload(KEY, FILE), BODY)

    assert status == 200
    assert uploads.port.fetch_upload(KEY, limit_bytes=len(BODY)) == BODY


@pytest.mark.parametrize(
    "other", [b"# Elsewhere\n\n", BODY + b"!", b""], ids=["same size", "longer", "empty"]
)
def test_other_bytes_than_the_announced_ones_are_refused(uploads: Uploads, other: bytes) -> None:
    assert len(BODY) == len(b"# Elsewhere\n\n")
    status = uploads.put(uploads.port.sign_upload(KEY, FILE), other)

    assert status in (400, 403) or not uploads.checks
    with pytest.raises(NotFound):
        uploads.port.fetch_upload(KEY, limit_bytes=100)


def test_an_upload_without_its_headers_is_refused(uploads: Uploads) -> None:
    upload = uploads.port.sign_upload(KEY, FILE)

    status = uploads.put(replace(upload, headers={}), BODY)

    assert status in (400, 403) or not uploads.checks


def test_an_empty_file_can_be_uploaded(uploads: Uploads) -> None:
    sha256 = hashlib.sha256(b"").hexdigest()
    key, file = replace(KEY, sha256=sha256), replace(FILE, sha256=sha256, size_bytes=0)

    status = uploads.put(uploads.port.sign_upload(key, file), b"")

    assert (status, uploads.port.fetch_upload(key, limit_bytes=0)) == (200, b"")


def test_nothing_uploaded_is_not_found(uploads: Uploads) -> None:
    with pytest.raises(NotFound):
        uploads.port.fetch_upload(KEY, limit_bytes=100)


def test_more_than_the_limit_is_not_read(uploads: Uploads) -> None:
    uploads.plant(KEY, BODY)

    with pytest.raises(TooLarge):
        uploads.port.fetch_upload(KEY, limit_bytes=len(BODY) - 1)


def test_bytes_that_do_not_match_their_key_are_never_returned(uploads: Uploads) -> None:
    uploads.plant(KEY, b"something else")

    with pytest.raises(NotFound):
        uploads.port.fetch_upload(KEY, limit_bytes=100)


def test_a_key_for_other_bytes_is_not_signed(uploads: Uploads) -> None:
    with pytest.raises(ValueError, match="the key is for"):
        uploads.port.sign_upload(replace(KEY, sha256="0" * 64), FILE)


def test_every_version_of_a_document_is_deleted_and_nothing_else(uploads: Uploads) -> None:
    older = replace(KEY, sha256=hashlib.sha256(b"older").hexdigest())
    neighbours = [
        replace(KEY, document_id=DocumentId("d-10")),
        replace(KEY, corpus_id=CorpusId("handbook-2")),
        replace(KEY, organisation_id=OrganisationId("globex")),
    ]
    for key in (KEY, *neighbours):
        uploads.plant(key, BODY)
    uploads.plant(older, b"older")

    for _ in range(2):
        uploads.port.delete_document(KEY.organisation_id, KEY.corpus_id, KEY.document_id)

    for key in (KEY, older):
        with pytest.raises(NotFound):
            uploads.port.fetch_upload(key, limit_bytes=100)
    assert [uploads.port.fetch_upload(key, limit_bytes=100) for key in neighbours] == [BODY] * 3

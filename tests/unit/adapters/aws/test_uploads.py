"""What a signed upload promises to S3."""

import base64
import hashlib
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.uploads import S3UploadAdapter
from equerry.domain.corpora import SourceFile
from equerry.kernel.identifiers import CorpusId, DocumentId, OrganisationId
from equerry.ports.uploads import UploadKey

SHA = hashlib.sha256(b"hello").hexdigest()
FILE = SourceFile(path="a.md", sha256=SHA, size_bytes=5)
KEY = UploadKey(
    organisation_id=OrganisationId("acme"),
    corpus_id=CorpusId("handbook"),
    document_id=DocumentId("d-1"),
    sha256=SHA,
)


@pytest.mark.parametrize(
    ("region", "host"),
    [("us-east-1", "staged.s3.amazonaws.com"), ("eu-west-1", "staged.s3.eu-west-1.amazonaws.com")],
)
def test_length_and_checksum_are_signed_for_a_quarter_of_an_hour(
    monkeypatch: pytest.MonkeyPatch, region: str, host: str
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)

    upload = S3UploadAdapter(AwsClients().s3, "staged").sign_upload(KEY, FILE)

    address, query = urlsplit(upload.url), parse_qs(urlsplit(upload.url).query)
    assert (address.scheme, address.hostname, address.path) == ("https", host, f"/{KEY}")
    assert query["X-Amz-SignedHeaders"] == ["content-length;host;x-amz-checksum-sha256"]
    assert (query["X-Amz-Algorithm"], query["X-Amz-Expires"]) == (["AWS4-HMAC-SHA256"], ["900"])
    assert not any("checksum" in name.lower() for name in query)
    assert upload.headers == {
        "x-amz-checksum-sha256": base64.b64encode(hashlib.sha256(b"hello").digest()).decode()
    }


@pytest.mark.parametrize("sha256", ["", "abc", "zz" * 32, "ab" * 31])
def test_a_hash_that_is_none_is_not_signed(sha256: str) -> None:
    uploads = S3UploadAdapter(AwsClients().s3, "staged")

    with pytest.raises(ValueError):
        uploads.sign_upload(replace(KEY, sha256=sha256), replace(FILE, sha256=sha256))

"""Staged documents, in S3."""

import base64
import hashlib
from contextlib import closing
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from equerry.adapters.aws.errors import aws_errors, error_code
from equerry.domain.corpora import SourceFile
from equerry.kernel.errors import NotFound, TooLarge
from equerry.kernel.identifiers import CorpusId, DocumentId, OrganisationId
from equerry.ports.uploads import SignedUpload, UploadKey

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

VALID_FOR_S = 900
CHECKSUM_HEADER = "x-amz-checksum-sha256"


class S3UploadAdapter:
    """UploadPort over one bucket.

    Length and checksum are part of an upload's signature, so S3 refuses any other bytes before it keeps them.
    """

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def sign_upload(self, key: UploadKey, file: SourceFile) -> SignedUpload:
        """Keep UploadPort's promise.

        Raises:
            ValueError: the key is for other bytes than the file's, or its hash is not SHA-256 in hexadecimal.
        """
        if key.sha256 != file.sha256:
            raise ValueError(f"the key is for {key.sha256!r}, the file has {file.sha256!r}")
        checksum = _encode_checksum(file.sha256)
        url = self._client.generate_presigned_url(
            "put_object",
            Params={
                "Bucket": self._bucket,
                "Key": str(key),
                "ContentLength": file.size_bytes,
                "ChecksumSHA256": checksum,
            },
            ExpiresIn=VALID_FOR_S,
        )
        return SignedUpload(url=url, headers={CHECKSUM_HEADER: checksum})

    def fetch_upload(self, key: UploadKey, *, limit_bytes: int) -> bytes:
        """Keep UploadPort's promise."""
        try:
            with aws_errors(f"read {key}"):
                answer = self._client.get_object(Bucket=self._bucket, Key=str(key))
                with closing(answer["Body"]) as body:
                    if answer["ContentLength"] > limit_bytes:
                        raise TooLarge(
                            f"{key} has {answer['ContentLength']} bytes, {limit_bytes} are allowed"
                        )
                    content = body.read()
        except ClientError as error:
            if error_code(error) in ("NoSuchKey", "404"):
                raise NotFound(f"nothing was uploaded as {key}") from error
            raise
        if hashlib.sha256(content).hexdigest() != key.sha256:
            raise NotFound(f"what lies at {key} is not what was announced")
        return content

    def delete_document(
        self, organisation_id: OrganisationId, corpus_id: CorpusId, document_id: DocumentId
    ) -> None:
        """Keep UploadPort's promise."""
        prefix = f"corpora/{organisation_id}/{corpus_id}/{document_id}/"
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        with aws_errors(f"delete {prefix}"):
            for page in pages:
                for staged in page.get("Contents", []):
                    self._client.delete_object(Bucket=self._bucket, Key=staged["Key"])


def _encode_checksum(sha256: str) -> str:
    digest = bytes.fromhex(sha256)
    if len(digest) != hashlib.sha256().digest_size:
        raise ValueError(f"a SHA-256 has 64 hexadecimal digits, got {sha256!r}")
    return base64.b64encode(digest).decode()

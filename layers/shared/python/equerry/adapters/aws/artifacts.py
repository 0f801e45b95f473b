"""Artifacts' bodies, in S3."""

from contextlib import closing
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from equerry.adapters.aws.errors import aws_errors, error_code
from equerry.kernel.errors import NotFound, TooLarge
from equerry.ports.artifacts import MAX_ARTIFACT_BYTES, ArtifactKey

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3ArtifactStoreAdapter:
    """ArtifactStorePort over one bucket."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def store_artifact(self, key: ArtifactKey, body: bytes) -> None:
        """Keep ArtifactStorePort's promise."""
        if len(body) > MAX_ARTIFACT_BYTES:
            raise TooLarge(f"an artifact may have {MAX_ARTIFACT_BYTES} bytes, got {len(body)}")
        with aws_errors(f"store {key}"):
            self._client.put_object(
                Bucket=self._bucket, Key=str(key), Body=body, ContentType="application/json"
            )

    def fetch_artifact(self, key: ArtifactKey) -> bytes:
        """Keep ArtifactStorePort's promise."""
        try:
            with aws_errors(f"read {key}"):
                answer = self._client.get_object(Bucket=self._bucket, Key=str(key))
                with closing(answer["Body"]) as body:
                    return body.read()
        except ClientError as error:
            if error_code(error) in ("NoSuchKey", "404"):
                raise NotFound("there is no such artifact") from error
            raise

    def delete_artifacts(self, prefix: str) -> None:
        """Keep ArtifactStorePort's promise; what versioning keeps of them goes as noncurrent versions do.

        Raises:
            ValueError: the prefix does not end in a slash, so that it could be another's as well.
        """
        if not prefix.endswith("/"):
            raise ValueError(f"a prefix ends in a slash, got {prefix!r}")
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        with aws_errors(f"delete {prefix}"):
            for page in pages:
                for stored in page.get("Contents", []):
                    self._client.delete_object(Bucket=self._bucket, Key=stored["Key"])

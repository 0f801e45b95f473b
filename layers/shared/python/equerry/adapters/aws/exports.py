"""Exports of organisations that are about to be purged, in S3."""

from collections.abc import Iterable
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from equerry.adapters.aws.errors import aws_errors
from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import OrganisationId

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3ExportAdapter:
    """ExportPort over the bucket's prefix exports/, which outlives the organisation for thirty days."""

    def __init__(self, client: "S3Client", bucket: str, clock: Clock) -> None:
        self._client = client
        self._bucket = bucket
        self._clock = clock

    def deliver(self, organisation_id: OrganisationId, lines: Iterable[str]) -> str:
        """Keep ExportPort's promise; what it returns is an object's key."""
        key = f"exports/{organisation_id}/{self._clock.now():%Y%m%dT%H%M%SZ}.jsonl"
        with TemporaryFile() as file:
            for line in lines:
                file.write(f"{line}\n".encode())
            file.seek(0)
            with aws_errors("store an export"):
                self._client.put_object(
                    Bucket=self._bucket, Key=key, Body=file, ContentType="application/x-ndjson"
                )
        return key

"""What people and organisations left in the bucket, every version of it, and its removal."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from equerry.adapters.aws.errors import aws_errors
from equerry.kernel.errors import Unavailable
from equerry.ports.artifacts import artifact_prefix
from equerry.ports.disposals import Disposal

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_FEW = 3
"""So many conversations of a person are looked up one by one; more, by reading all their keys once."""


class S3RemainsAdapter:
    """RemainsPort over one versioned bucket: what is deleted here is not kept for thirty days more."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def dispose(self, disposals: Sequence[Disposal]) -> int:
        """Keep RemainsPort's promise."""
        removed = 0
        people: dict[tuple[str, str], set[str]] = defaultdict(set)
        for disposal in disposals:
            match disposal.kind:
                case "conversation":
                    people[disposal.organisation_id, disposal.user_id].add(disposal.thing_id)
                case "document":
                    prefix = f"corpora/{disposal.organisation_id}/{disposal.thing_id}/"
                    removed += self._delete(prefix, partial(_is_of, disposal))
                case "person" if disposal.organisation_id:
                    removed += self._delete(artifact_prefix(disposal.organisation_id, disposal.user_id))
                case "organisation":
                    removed += self._delete(f"corpora/{disposal.organisation_id}/")
                    removed += self._delete(artifact_prefix(disposal.organisation_id))
                case "run" | "person":
                    pass
        return removed + sum(self._delete_conversations(*person, gone) for person, gone in people.items())

    def _delete_conversations(self, organisation_id: str, user_id: str, gone: set[str]) -> int:
        if len(gone) <= _FEW:
            return sum(
                self._delete(artifact_prefix(organisation_id, user_id, conversation)) for conversation in gone
            )
        prefix = artifact_prefix(organisation_id, user_id)
        quoted = {quote(conversation, safe="") for conversation in gone}
        return self._delete(
            prefix, lambda entry: entry["Key"].removeprefix(prefix).partition("/")[0] in quoted
        )

    def _delete(self, prefix: str, chosen: Callable[[Any], bool] = lambda _entry: True) -> int:
        """Delete every version below a prefix; counts keys that still had content."""
        removed = 0
        pages = self._client.get_paginator("list_object_versions").paginate(
            Bucket=self._bucket, Prefix=prefix
        )
        with aws_errors(f"delete {prefix}"):
            for page in pages:
                versions: list[Any] = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
                doomed = [entry for entry in versions if chosen(entry)]
                if not doomed:
                    continue
                answer = self._client.delete_objects(
                    Bucket=self._bucket,
                    Delete={
                        "Objects": [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in doomed],
                        "Quiet": True,
                    },
                )
                if answer.get("Errors"):
                    raise Unavailable(f"could not delete everything below {prefix}")
                removed += len(doomed)
        return removed


def _is_of(disposal: Disposal, entry: Any) -> bool:
    """Whether this was a withdrawn document's: announced again, the same path has the same identity."""
    return disposal.due_at is None or bool(entry["LastModified"] <= disposal.due_at)

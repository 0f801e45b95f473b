"""The replay log in DynamoDB: one item an envelope, kept for a day."""

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from equerry.adapters.aws.attributes import (
    forget_after,
    instant,
    number,
    read_instant,
    read_number,
    read_text,
    text,
)
from equerry.adapters.aws.errors import ConditionFailed, aws_errors
from equerry.channel.envelope import Envelope, PayloadRef
from equerry.channel.marker import Marker
from equerry.kernel.identifiers import ArtifactId, ConversationId, NewIdentifier, RunId
from equerry.ports.delivery import EnvelopeExists

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from equerry.adapters.aws.attributes import Item

KEPT = timedelta(hours=24)
MAX_PAYLOAD_BYTES = 350 * 1024
"""An item may have 400 KB; this leaves room for its other attributes."""


class DynamoReplayLogAdapter:
    """ReplayLogPort over a table with the key `pk`, the run, and the numeric `sk`, the seq.

    `new_identifier` marks each append, so that one whose first answer got lost recognises itself.
    """

    def __init__(self, client: "DynamoDBClient", table: str, new_identifier: NewIdentifier) -> None:
        self._client = client
        self._table = table
        self._new_identifier = new_identifier

    def append(self, envelope: Envelope) -> None:
        """Keep ReplayLogPort's promise.

        Raises:
            EnvelopeExists: see the port.
            ValueError: the payload is larger than 350 KiB of JSON, or is not JSON.
        """
        append_id = self._new_identifier()
        try:
            with aws_errors(f"log envelope {envelope.seq} of run {envelope.run_id}"):
                self._client.put_item(
                    TableName=self._table,
                    Item=_to_item(envelope) | {"append_id": text(append_id)},
                    ConditionExpression="attribute_not_exists(pk)",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ConditionFailed as failed:
            if not failed.item or failed.item.get("append_id") != text(append_id):
                raise EnvelopeExists(f"run {envelope.run_id} has an envelope {envelope.seq}") from failed

    def read(self, marker: Marker, *, limit: int) -> tuple[Envelope, ...]:
        """Keep ReplayLogPort's promise; what is returned has no gap inside it.

        DynamoDB forgets items in no order, and a query may see an envelope that was written while it
        ran but not the one before it. The next read, from there, finds out which of the two it was.
        """
        found: list[Envelope] = []
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            ConsistentRead=True,
            KeyConditionExpression="pk = :run AND sk > :seq",
            ExpressionAttributeValues={":run": text(marker.run_id), ":seq": number(marker.seq)},
            PaginationConfig={"MaxItems": limit, "PageSize": limit},
        )
        with aws_errors(f"read the log of run {marker.run_id}"):
            for page in pages:
                found.extend(_from_item(item) for item in page["Items"])
        return tuple(_until_gap(found))

    def find_last(self, run_id: RunId) -> Envelope | None:
        """Keep ReplayLogPort's promise."""
        with aws_errors(f"read the log of run {run_id}"):
            answer = self._client.query(
                TableName=self._table,
                ConsistentRead=True,
                KeyConditionExpression="pk = :run",
                ExpressionAttributeValues={":run": text(run_id)},
                ScanIndexForward=False,
                Limit=1,
            )
        return next((_from_item(item) for item in answer["Items"]), None)


def _until_gap(envelopes: list[Envelope]) -> Iterable[Envelope]:
    for index, envelope in enumerate(envelopes):
        if envelope.seq != envelopes[0].seq + index:
            return
        yield envelope


def _to_item(envelope: Envelope) -> "Item":
    payload = json.dumps(envelope.payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    size = len(payload.encode())
    if size > MAX_PAYLOAD_BYTES:
        raise ValueError(f"an envelope's payload may have {MAX_PAYLOAD_BYTES} bytes, got {size}")
    item = {
        "pk": text(envelope.run_id),
        "sk": number(envelope.seq),
        "event_type": text(envelope.type),
        "conversation_id": text(envelope.conversation_id),
        "published_at": instant(envelope.at),
        "payload": text(payload),
        "contract": number(envelope.v),
        "expires_at": forget_after(envelope.at + KEPT),
    }
    if envelope.payload_ref is not None:
        item["payload_artifact_id"] = text(envelope.payload_ref.artifact_id)
        item["payload_size_bytes"] = number(envelope.payload_ref.size_bytes)
    return item


def _from_item(item: Mapping[str, Any]) -> Envelope:
    return Envelope(
        type=read_text(item, "event_type"),
        run_id=RunId(read_text(item, "pk")),
        conversation_id=ConversationId(read_text(item, "conversation_id")),
        seq=read_number(item, "sk"),
        at=read_instant(item, "published_at"),
        payload=json.loads(read_text(item, "payload")),
        v=read_number(item, "contract"),
        payload_ref=_read_reference(item),
    )


def _read_reference(item: Mapping[str, Any]) -> PayloadRef | None:
    if "payload_artifact_id" not in item:
        return None
    return PayloadRef(
        artifact_id=ArtifactId(read_text(item, "payload_artifact_id")),
        size_bytes=read_number(item, "payload_size_bytes"),
    )

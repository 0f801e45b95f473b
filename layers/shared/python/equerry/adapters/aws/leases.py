"""Leases in DynamoDB: one item a conversation, changed by conditional writes alone."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from equerry.adapters.aws.attributes import (
    instant,
    number,
    read_instant,
    read_number,
    read_scope,
    read_text,
    scope_attributes,
    text,
)
from equerry.adapters.aws.errors import ConditionFailed, aws_errors
from equerry.domain.budget import Reservation
from equerry.domain.leases import Lease, LeaseLost
from equerry.kernel.identifiers import ConversationId, NewIdentifier, RunId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import DeleteTypeDef, PutTypeDef

    from equerry.adapters.aws.attributes import Item

_HELD = "run_id = :run AND fence = :fence"
_CLAIMABLE = "run_id = :run AND (fence = :waiting OR held_until <= :now)"


class DynamoLeaseAdapter:
    """LeasePort over a table with the key `pk`, the conversation; admission begins and ends its items.

    The item has no `expires_at`: one that DynamoDB dropped by itself would be a run that nobody ends.
    `new_identifier` marks each claim, so that one whose first answer got lost recognises itself.
    """

    def __init__(self, client: "DynamoDBClient", table: str, new_identifier: NewIdentifier) -> None:
        self._client = client
        self._table = table
        self._new_identifier = new_identifier

    def find_lease(self, conversation_id: ConversationId) -> Lease | None:
        """Keep LeasePort's promise."""
        with aws_errors(f"read the lease of {conversation_id}"):
            answer = self._client.get_item(
                TableName=self._table, Key=lease_key(conversation_id), ConsistentRead=True
            )
        item = answer.get("Item")
        return read_lease(item) if item else None

    def claim(
        self, conversation_id: ConversationId, run_id: RunId, *, now: datetime, until: datetime
    ) -> Lease:
        """Keep LeasePort's promise."""
        claim_id = self._new_identifier()
        try:
            return self._update(
                lease_key(conversation_id),
                change="SET fence = fence + :one, held_until = :until, claim_id = :claim",
                condition=_CLAIMABLE,
                values={
                    ":one": number(1),
                    ":until": instant(until),
                    ":claim": text(claim_id),
                    ":run": text(run_id),
                    ":waiting": number(0),
                    ":now": instant(now),
                },
            )
        except ConditionFailed as failed:
            if failed.item and failed.item.get("claim_id") == text(claim_id):
                return read_lease(failed.item)
            raise LeaseLost(f"run {run_id} has another live worker, or no lease") from failed

    def renew(self, lease: Lease, *, until: datetime) -> Lease:
        """Keep LeasePort's promise."""
        try:
            return self._update(
                lease_key(lease.conversation_id),
                change="SET held_until = :until",
                condition=_HELD,
                values={":until": instant(until), **_holder(lease)},
            )
        except ConditionFailed as failed:
            raise LeaseLost(f"run {lease.run_id} does not hold its lease any more") from failed

    def list_lapsed(self, *, now: datetime, limit: int) -> tuple[Lease, ...]:
        """Keep LeasePort's promise.

        Scans: the table holds live runs only, so it is never larger than the traffic of a few minutes.
        """
        lapsed: list[Lease] = []
        for item in self._scan(now):
            if len(lapsed) == limit:
                break
            lapsed.append(read_lease(item))
        return tuple(lapsed)

    def _scan(self, now: datetime) -> "Iterator[Item]":
        pages = self._client.get_paginator("scan").paginate(
            TableName=self._table,
            ConsistentRead=True,
            FilterExpression="held_until <= :now",
            ExpressionAttributeValues={":now": instant(now)},
        )
        with aws_errors("list lapsed leases"):
            for page in pages:
                yield from page["Items"]

    def _update(self, key: "Item", *, change: str, condition: str, values: "Item") -> Lease:
        with aws_errors(f"change the lease of {key['pk']['S']}"):
            answer = self._client.update_item(
                TableName=self._table,
                Key=key,
                UpdateExpression=change,
                ConditionExpression=condition,
                ExpressionAttributeValues=values,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        return read_lease(answer["Attributes"])


def lease_key(conversation_id: ConversationId) -> "Item":
    """Return the key of a conversation's lease."""
    return {"pk": text(conversation_id)}


def write_lease(table: str, lease: Lease) -> "PutTypeDef":
    """Return the write that takes a free conversation."""
    return {"TableName": table, "Item": _to_item(lease), "ConditionExpression": "attribute_not_exists(pk)"}


def write_lease_end(table: str, lease: Lease) -> "DeleteTypeDef":
    """Return the deletion that frees a conversation which `lease` still holds."""
    return {
        "TableName": table,
        "Key": lease_key(lease.conversation_id),
        "ConditionExpression": _HELD,
        "ExpressionAttributeValues": _holder(lease),
    }


def read_lease(item: Mapping[str, Any]) -> Lease:
    """Return the lease that an item holds."""
    return Lease(
        conversation_id=ConversationId(read_text(item, "pk")),
        run_id=RunId(read_text(item, "run_id")),
        scope=read_scope(item),
        token=read_number(item, "fence"),
        until=read_instant(item, "held_until"),
        reservation=_read_reservation(item) if "reserved_hour" in item else None,
    )


def _read_reservation(item: Mapping[str, Any]) -> Reservation:
    return Reservation(
        hour=read_number(item, "reserved_hour"),
        input_tokens=read_number(item, "reserved_input"),
        output_tokens=read_number(item, "reserved_output"),
        full=bool(item["reserved_full"]["BOOL"]),
    )


def _holder(lease: Lease) -> "Item":
    return {":run": text(lease.run_id), ":fence": number(lease.token)}


def _to_item(lease: Lease) -> "Item":
    return {
        **lease_key(lease.conversation_id),
        **scope_attributes(lease.scope),
        "run_id": text(lease.run_id),
        "fence": number(lease.token),
        "held_until": instant(lease.until),
        **(_reservation(lease.reservation) if lease.reservation else {}),
    }


def _reservation(reservation: Reservation) -> "Item":
    return {
        "reserved_hour": number(reservation.hour),
        "reserved_input": number(reservation.input_tokens),
        "reserved_output": number(reservation.output_tokens),
        "reserved_full": {"BOOL": reservation.full},
    }

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
from equerry.domain.leases import Lease, LeaseLost, TurnInProgress
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ConversationId, NewIdentifier, RunId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from equerry.adapters.aws.attributes import Item

_HELD = "run_id = :run AND fence = :fence"
_CLAIMABLE = "run_id = :run AND (fence = :waiting OR held_until <= :now)"


class DynamoLeaseAdapter:
    """LeasePort over a table with the key `pk`, the conversation.

    The item has no `expires_at`: one that DynamoDB dropped by itself would be a run that nobody ends.
    `new_identifier` marks each claim, so that one whose first answer got lost recognises itself.
    """

    def __init__(self, client: "DynamoDBClient", table: str, new_identifier: NewIdentifier) -> None:
        self._client = client
        self._table = table
        self._new_identifier = new_identifier

    def acquire(
        self, conversation_id: ConversationId, run_id: RunId, scope: Scope, *, until: datetime
    ) -> Lease:
        """Keep LeasePort's promise."""
        wanted = Lease(conversation_id=conversation_id, run_id=run_id, scope=scope, token=0, until=until)
        try:
            with aws_errors(f"acquire conversation {conversation_id}"):
                self._client.put_item(
                    TableName=self._table,
                    Item=_to_item(wanted),
                    ConditionExpression="attribute_not_exists(pk)",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ConditionFailed as failed:
            if failed.item is None:
                raise  # asked for, so only a broken store leaves it out
            held = _from_item(failed.item)
            if held.run_id != run_id:
                raise TurnInProgress(held) from failed
            return held
        return wanted

    def find_lease(self, conversation_id: ConversationId) -> Lease | None:
        """Keep LeasePort's promise."""
        with aws_errors(f"read the lease of {conversation_id}"):
            answer = self._client.get_item(
                TableName=self._table, Key=_key(conversation_id), ConsistentRead=True
            )
        item = answer.get("Item")
        return _from_item(item) if item else None

    def claim(
        self, conversation_id: ConversationId, run_id: RunId, *, now: datetime, until: datetime
    ) -> Lease:
        """Keep LeasePort's promise."""
        claim_id = self._new_identifier()
        try:
            return self._update(
                _key(conversation_id),
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
                return _from_item(failed.item)
            raise LeaseLost(f"run {run_id} has another live worker, or no lease") from failed

    def renew(self, lease: Lease, *, until: datetime) -> Lease:
        """Keep LeasePort's promise."""
        try:
            return self._update(
                _key(lease.conversation_id),
                change="SET held_until = :until",
                condition=_HELD,
                values={":until": instant(until), **_holder(lease)},
            )
        except ConditionFailed as failed:
            raise LeaseLost(f"run {lease.run_id} does not hold its lease any more") from failed

    def release(self, lease: Lease) -> bool:
        """Keep LeasePort's promise."""
        try:
            with aws_errors(f"release conversation {lease.conversation_id}"):
                self._client.delete_item(
                    TableName=self._table,
                    Key=_key(lease.conversation_id),
                    ConditionExpression=_HELD,
                    ExpressionAttributeValues=_holder(lease),
                )
        except ConditionFailed:
            return False
        return True

    def list_lapsed(self, *, now: datetime, limit: int) -> tuple[Lease, ...]:
        """Keep LeasePort's promise.

        Scans: the table holds live runs only, so it is never larger than the traffic of a few minutes.
        """
        lapsed: list[Lease] = []
        for item in self._scan(now):
            if len(lapsed) == limit:
                break
            lapsed.append(_from_item(item))
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
        return _from_item(answer["Attributes"])


def _key(conversation_id: ConversationId) -> "Item":
    return {"pk": text(conversation_id)}


def _holder(lease: Lease) -> "Item":
    return {":run": text(lease.run_id), ":fence": number(lease.token)}


def _to_item(lease: Lease) -> "Item":
    return {
        **_key(lease.conversation_id),
        **scope_attributes(lease.scope),
        "run_id": text(lease.run_id),
        "fence": number(lease.token),
        "held_until": instant(lease.until),
    }


def _from_item(item: Mapping[str, Any]) -> Lease:
    return Lease(
        conversation_id=ConversationId(read_text(item, "pk")),
        run_id=RunId(read_text(item, "run_id")),
        scope=read_scope(item),
        token=read_number(item, "fence"),
        until=read_instant(item, "held_until"),
    )

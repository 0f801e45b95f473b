"""Counters and idempotency keys that no window looks at any more, in DynamoDB."""

from datetime import datetime
from typing import TYPE_CHECKING

from equerry.adapters.aws.attributes import forget_after
from equerry.adapters.aws.errors import ConditionFailed, aws_errors

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from equerry.adapters.aws.attributes import Item


class DynamoCounterAdapter:
    """CounterPort over the usage table; DynamoDB forgets them by itself, days later at worst."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def delete_counters(self, *, now: datetime) -> int:
        """Keep CounterPort's promise."""
        past: Item = {":now": forget_after(now)}
        pages = self._client.get_paginator("scan").paginate(
            TableName=self._table,
            FilterExpression="expires_at < :now",
            ProjectionExpression="pk, sk",
            ExpressionAttributeValues=past,
        )
        with aws_errors("list old counters"):
            return sum(self._delete(dict(key), past) for page in pages for key in page["Items"])

    def _delete(self, key: "Item", past: "Item") -> bool:
        """Delete a counter, unless somebody was counted by it meanwhile."""
        try:
            with aws_errors("delete a counter"):
                self._client.delete_item(
                    TableName=self._table,
                    Key=key,
                    ConditionExpression="expires_at < :now",
                    ExpressionAttributeValues=past,
                )
        except ConditionFailed:
            return False
        return True

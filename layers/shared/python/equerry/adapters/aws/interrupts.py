"""Requests to stop a run, in DynamoDB."""

from datetime import timedelta
from typing import TYPE_CHECKING

from equerry.adapters.aws.attributes import forget_after, text
from equerry.adapters.aws.errors import aws_errors
from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import RunId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from equerry.adapters.aws.attributes import Item

KEPT = timedelta(hours=24)


class DynamoInterruptAdapter:
    """InterruptPort over a table with the string keys `pk`, the run, and `sk`, the flag."""

    def __init__(self, client: "DynamoDBClient", table: str, clock: Clock) -> None:
        self._client = client
        self._table = table
        self._clock = clock

    def request_interrupt(self, run_id: RunId) -> None:
        """Keep InterruptPort's promise."""
        forgotten = forget_after(self._clock.now() + KEPT)
        with aws_errors(f"interrupt run {run_id}"):
            self._client.put_item(TableName=self._table, Item=_key(run_id) | {"expires_at": forgotten})

    def is_interrupted(self, run_id: RunId) -> bool:
        """Keep InterruptPort's promise."""
        with aws_errors(f"read the flags of run {run_id}"):
            answer = self._client.get_item(TableName=self._table, Key=_key(run_id), ConsistentRead=True)
        return "Item" in answer

    def clear_interrupt(self, run_id: RunId) -> None:
        """Keep InterruptPort's promise."""
        with aws_errors(f"clear the flags of run {run_id}"):
            self._client.delete_item(TableName=self._table, Key=_key(run_id))


def _key(run_id: RunId) -> "Item":
    return {"pk": text(run_id), "sk": text("interrupt")}

"""Models that are left alone for a while, in DynamoDB: an item each, and none for those that are well."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

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
from equerry.domain.breaker import Cooling
from equerry.engine.model import ModelChoice

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from equerry.adapters.aws.attributes import Item

KEPT = timedelta(hours=1)
_PARTITION = "provider-health"
_NAMES = {"#until": "cooled_until"}
_LATER = "attribute_not_exists(pk) OR #until <= :until"
_AS_SEEN = "#until = :seen"


class DynamoProviderHealthAdapter:
    """ProviderHealthPort over a table with the string keys `pk` and `sk`, the model."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def list_cooled(self) -> tuple[Cooling, ...]:
        """Keep ProviderHealthPort's promise."""
        with aws_errors("list what is cooled"):
            answer = self._client.query(
                TableName=self._table,
                KeyConditionExpression="pk = :pk",
                ExpressionAttributeValues={":pk": text(_PARTITION)},
            )
        return tuple(_read(item) for item in answer["Items"])

    def cool(self, cooling: Cooling) -> None:
        """Keep ProviderHealthPort's promise."""
        try:
            self._put(cooling, _LATER, {":until": instant(cooling.until)})
        except ConditionFailed:
            return  # somebody has cooled it for longer

    def claim_probe(self, cooling: Cooling, *, until: datetime) -> bool:
        """Keep ProviderHealthPort's promise."""
        claimed = Cooling(choice=cooling.choice, until=until, times=cooling.times, cause=cooling.cause)
        try:
            self._put(claimed, _AS_SEEN, {":seen": instant(cooling.until)})
        except ConditionFailed:
            return False
        return True

    def clear(self, choice: ModelChoice) -> None:
        """Keep ProviderHealthPort's promise."""
        with aws_errors(f"clear {choice.provider}"):
            self._client.delete_item(TableName=self._table, Key=_key(choice))

    def _put(self, cooling: Cooling, condition: str, values: "Item") -> None:
        with aws_errors(f"cool {cooling.choice.provider}"):
            self._client.put_item(
                TableName=self._table,
                Item=_write(cooling),
                ConditionExpression=condition,
                ExpressionAttributeNames=_NAMES,
                ExpressionAttributeValues=values,
            )


def _key(choice: ModelChoice) -> "Item":
    return {"pk": text(_PARTITION), "sk": text(f"{choice.provider}/{choice.model}")}


def _write(cooling: Cooling) -> "Item":
    return _key(cooling.choice) | {
        "cooled_until": instant(cooling.until),
        "times": number(cooling.times),
        "cause": text(cooling.cause),
        "expires_at": forget_after(cooling.until + KEPT),
    }


def _read(item: "Item") -> Cooling:
    provider, _, model = read_text(item, "sk").partition("/")
    return Cooling(
        choice=ModelChoice(provider=provider, model=model),
        until=read_instant(item, "cooled_until"),
        times=read_number(item, "times"),
        cause=read_text(item, "cause"),
    )

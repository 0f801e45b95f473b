"""What people, runs and organisations left in the tables of live turns, and its removal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equerry.adapters.aws.attributes import read_text, text
from equerry.adapters.aws.errors import aws_errors
from equerry.kernel.kinds import value
from equerry.ports.disposals import Disposal

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from equerry.adapters.aws.attributes import Item

_CONNECTION = "CONN#"


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTables:
    """The tables' names."""

    leases: str
    connections: str
    replay: str
    run_flags: str
    usage: str


class DynamoRemainsAdapter:
    """RemainsPort over the tables of live turns.

    Whose an item is stands in it, so a person's and an organisation's are found by reading a table whole:
    these tables hold minutes to days of traffic, and people are not erased every minute.
    """

    def __init__(self, client: "DynamoDBClient", tables: TurnTables) -> None:
        self._client = client
        self._tables = tables

    def dispose(self, disposals: Sequence[Disposal]) -> int:
        """Keep RemainsPort's promise."""
        removed = 0
        for disposal in disposals:
            match disposal.kind:
                case "run":
                    removed += self._dispose_run(disposal.thing_id)
                case "conversation":
                    removed += self._dispose_conversation(disposal.thing_id)
                case "person" if not disposal.organisation_id:
                    removed += self._dispose_owned("user_id", disposal.user_id)
                case "organisation":
                    removed += self._dispose_organisation(disposal.organisation_id)
                case "person" | "document":
                    pass
        return removed

    def _dispose_run(self, run_id: str) -> int:
        return sum(
            self._delete_all(table, self._query(table, run_id))
            for table in (self._tables.replay, self._tables.run_flags)
        )

    def _dispose_conversation(self, conversation_id: str) -> int:
        table = self._tables.connections
        listening = list(self._query(table, f"CONV#{conversation_id}"))
        mirrored = [{"pk": key["sk"], "sk": key["pk"]} for key in listening]
        self._delete_all(table, mirrored)
        leased = self._delete_all(self._tables.leases, [{"pk": text(conversation_id)}])
        return leased + self._delete_all(table, listening)

    def _dispose_organisation(self, organisation_id: str) -> int:
        counted = self._delete_all(self._tables.usage, self._query(self._tables.usage, organisation_id))
        return counted + self._dispose_owned("organisation_id", organisation_id)

    def _dispose_owned(self, attribute: str, owner: str) -> int:
        """Remove items that name their owner: first the leases, so that no worker of theirs goes on."""
        removed, wanted = 0, text(owner)
        for table in (self._tables.leases, self._tables.connections, self._tables.usage):
            for key in self._scan(table, f"{attribute} = :wanted", wanted):
                if "sk" in key and read_text(key, "pk").startswith(_CONNECTION):
                    removed += self._dispose_subscriptions(read_text(key, "pk"))
                removed += self._delete_all(table, [key])
        return removed

    def _dispose_subscriptions(self, connection: str) -> int:
        """Remove what a connection listens to, under the conversations first: the other half leads to it."""
        table = self._tables.connections
        halves = [key for key in self._query(table, connection) if read_text(key, "sk").startswith("CONV#")]
        self._delete_all(table, [{"pk": key["sk"], "sk": key["pk"]} for key in halves])
        return self._delete_all(table, halves)

    def _query(self, table: str, pk: str) -> "Iterator[Item]":
        pages = self._client.get_paginator("query").paginate(
            TableName=table,
            ConsistentRead=True,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": text(pk)},
        )
        return _keys(f"list what is left in {table}", pages)

    def _scan(self, table: str, condition: str, wanted: Any) -> "Iterator[Item]":
        pages = self._client.get_paginator("scan").paginate(
            TableName=table,
            ConsistentRead=True,
            FilterExpression=condition,
            ExpressionAttributeValues={":wanted": wanted},
        )
        return _keys(f"search {table}", pages)

    def _delete_all(self, table: str, keys: "Iterable[Item]") -> int:
        removed = 0
        for key in keys:
            with aws_errors(f"delete what is left in {table}"):
                answer = self._client.delete_item(TableName=table, Key=key, ReturnValues="ALL_OLD")
            removed += "Attributes" in answer
        return removed


def _keys(what: str, pages: Iterable[Mapping[str, Any]]) -> "Iterator[Item]":
    with aws_errors(what):
        for page in pages:
            for item in page["Items"]:
                yield {name: item[name] for name in ("pk", "sk") if name in item}

"""Tickets, open sockets and subscriptions in DynamoDB."""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from equerry.adapters.aws.attributes import (
    forget_after,
    instant,
    principal_attributes,
    read_principal,
    read_text,
    text,
)
from equerry.adapters.aws.errors import ConditionFailed, aws_errors
from equerry.domain.principal import Principal
from equerry.kernel.identifiers import ConnectionId, ConversationId
from equerry.ports.delivery import ConnectionGone, TicketRefused

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from equerry.adapters.aws.attributes import Item

_CONNECTION = "CONN#"
_CONVERSATION = "CONV#"
LONGEST_CONNECTION = timedelta(hours=2)
"""API Gateway closes every socket after this."""


class DynamoConnectionAdapter:
    """ConnectionPort over a table with the string keys `pk` and `sk`.

    A subscription is two items, one under the connection and one under the conversation. The former is
    written first and deleted last, so that whoever forgets a connection finds all that hangs on it.
    """

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def issue_ticket(self, ticket: str, principal: Principal, *, expires_at: datetime) -> None:
        """Keep ConnectionPort's promise."""
        self._put(
            "issue a ticket",
            {
                **_ticket_key(ticket),
                **principal_attributes(principal),
                "valid_until": instant(expires_at),
                "expires_at": forget_after(expires_at),
            },
        )

    def redeem_ticket(self, ticket: str, *, now: datetime) -> Principal:
        """Keep ConnectionPort's promise."""
        try:
            with aws_errors("redeem a ticket"):
                answer = self._client.delete_item(
                    TableName=self._table,
                    Key=_ticket_key(ticket),
                    ConditionExpression="valid_until > :now",
                    ExpressionAttributeValues={":now": instant(now)},
                    ReturnValues="ALL_OLD",
                )
        except ConditionFailed as failed:
            raise TicketRefused("the ticket is unknown, used up or past its time; get a new one") from failed
        return read_principal(answer["Attributes"])

    def connect(self, connection_id: ConnectionId, principal: Principal) -> None:
        """Keep ConnectionPort's promise."""
        self._put(
            f"register connection {connection_id}",
            {
                **_info_key(connection_id),
                **principal_attributes(principal),
                "expires_at": forget_after(principal.expires_at + LONGEST_CONNECTION),
            },
        )

    def disconnect(self, connection_id: ConnectionId) -> None:
        """Keep ConnectionPort's promise."""
        what = f"forget connection {connection_id}"
        self._delete(what, _info_key(connection_id))
        listening = list(self._query(what, f"{_CONNECTION}{connection_id}", _CONVERSATION))
        for item in listening:
            self._delete(what, {"pk": text(read_text(item, "sk")), "sk": text(read_text(item, "pk"))})
            self._delete(what, {"pk": text(read_text(item, "pk")), "sk": text(read_text(item, "sk"))})

    def find_principal(self, connection_id: ConnectionId) -> Principal | None:
        """Keep ConnectionPort's promise."""
        with aws_errors(f"read connection {connection_id}"):
            answer = self._client.get_item(
                TableName=self._table, Key=_info_key(connection_id), ConsistentRead=True
            )
        item = answer.get("Item")
        return read_principal(item) if item else None

    def subscribe(
        self, connection_id: ConnectionId, conversation_id: ConversationId, *, until: datetime
    ) -> None:
        """Keep ConnectionPort's promise.

        Raises:
            ConnectionGone: the connection is not there, or went while this was being written.
        """
        lasting: Item = {"valid_until": instant(until), "expires_at": forget_after(until)}
        for key in _subscription_keys(connection_id, conversation_id):
            self._put(f"subscribe connection {connection_id}", key | lasting)
        if self.find_principal(connection_id) is None:
            self.unsubscribe(connection_id, conversation_id)
            raise ConnectionGone(f"connection {connection_id} is not open")

    def unsubscribe(self, connection_id: ConnectionId, conversation_id: ConversationId) -> None:
        """Keep ConnectionPort's promise."""
        for key in reversed(_subscription_keys(connection_id, conversation_id)):
            self._delete(f"unsubscribe connection {connection_id}", key)

    def list_subscribers(self, conversation_id: ConversationId, *, now: datetime) -> tuple[ConnectionId, ...]:
        """Keep ConnectionPort's promise."""
        items = self._query(
            f"list who listens to {conversation_id}",
            f"{_CONVERSATION}{conversation_id}",
            _CONNECTION,
            now=now,
        )
        return tuple(ConnectionId(read_text(item, "sk").removeprefix(_CONNECTION)) for item in items)

    def _put(self, what: str, item: "Item") -> None:
        with aws_errors(what):
            self._client.put_item(TableName=self._table, Item=item)

    def _delete(self, what: str, key: "Item") -> None:
        with aws_errors(what):
            self._client.delete_item(TableName=self._table, Key=key)

    def _query(
        self, what: str, pk: str, prefix: str, *, now: datetime | None = None
    ) -> Iterator[Mapping[str, Any]]:
        values: Item = {":pk": text(pk), ":prefix": text(prefix)}
        filters: dict[str, Any] = {}
        if now is not None:
            values[":now"] = instant(now)
            filters["FilterExpression"] = "valid_until > :now"
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            ConsistentRead=True,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
            ExpressionAttributeValues=values,
            **filters,
        )
        with aws_errors(what):
            for page in pages:
                yield from page["Items"]


def _info_key(connection_id: ConnectionId) -> "Item":
    return {"pk": text(f"{_CONNECTION}{connection_id}"), "sk": text("INFO")}


def _ticket_key(ticket: str) -> "Item":
    digest = hashlib.sha256(ticket.encode()).hexdigest()
    return {"pk": text(f"TICKET#{digest}"), "sk": text("TICKET")}


def _subscription_keys(connection_id: ConnectionId, conversation_id: ConversationId) -> "tuple[Item, Item]":
    connection, conversation = f"{_CONNECTION}{connection_id}", f"{_CONVERSATION}{conversation_id}"
    return (
        {"pk": text(connection), "sk": text(conversation)},
        {"pk": text(conversation), "sk": text(connection)},
    )

"""What lies in the tables: no secret, an end for whatever may be forgotten, and none for a lease."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.connections import DynamoConnectionAdapter
from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.adapters.aws.replay_log import MAX_PAYLOAD_BYTES, DynamoReplayLogAdapter
from equerry.channel.envelope import Envelope
from equerry.channel.marker import Marker
from equerry.domain.admission import AdmissionRequest
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Principal, Scope
from equerry.domain.submissions import parse_submission
from equerry.kernel.identifiers import ConnectionId, ConversationId, OrganisationId, RunId, UserId

from tests.contract.aws_backends import create_table, new_identifier, start_aws
from tests.contract.leasing import create_admissions, create_lease_book
from tests.fakes.clock import NOON, FixedClock

C, R, TAB = ConversationId("c-1"), RunId("r-1"), ConnectionId("L0SM9cOFvHcCIhw=")
ANN = Principal(
    scope=Scope(organisation_id=OrganisationId("acme"), user_id=UserId("ann")),
    expires_at=NOON + timedelta(minutes=15),
)
DAY = timedelta(hours=24)


@pytest.fixture
def clients() -> Iterator[AwsClients]:
    with start_aws("moto") as clients:
        yield clients


def items(clients: AwsClients, table: str) -> list[Mapping[str, Any]]:
    return list(clients.dynamodb.scan(TableName=table)["Items"])


def ends(clients: AwsClients, table: str) -> set[float]:
    return {int(item["expires_at"]["N"]) - NOON.timestamp() for item in items(clients, table)}


def token(payload: Mapping[str, object]) -> Envelope:
    return Envelope(type="token", run_id=R, conversation_id=C, seq=1, at=NOON, payload=payload)


def test_a_ticket_is_kept_as_a_digest_until_it_ends(clients: AwsClients) -> None:
    table = create_table(clients.dynamodb, sort="S")
    connections = DynamoConnectionAdapter(clients.dynamodb, table)

    connections.issue_ticket("s3cret-ticket", ANN, expires_at=NOON + timedelta(seconds=29.5))

    assert "s3cret-ticket" not in str(items(clients, table))
    assert ends(clients, table) == {30}


def test_sockets_and_subscriptions_are_forgotten_after_their_time(clients: AwsClients) -> None:
    table = create_table(clients.dynamodb, sort="S")
    connections = DynamoConnectionAdapter(clients.dynamodb, table)

    connections.connect(TAB, ANN)
    connections.subscribe(TAB, C, until=ANN.expires_at)

    assert ends(clients, table) == {15 * 60, 15 * 60 + 2 * 60 * 60}


def test_a_closed_socket_leaves_nothing_behind(clients: AwsClients) -> None:
    table = create_table(clients.dynamodb, sort="S")
    connections = DynamoConnectionAdapter(clients.dynamodb, table)
    connections.connect(TAB, ANN)
    for number in range(3):
        connections.subscribe(TAB, ConversationId(f"c-{number}"), until=ANN.expires_at)

    connections.unsubscribe(TAB, ConversationId("c-1"))
    connections.disconnect(TAB)

    assert items(clients, table) == []


def test_the_log_and_the_flags_are_kept_for_a_day(clients: AwsClients) -> None:
    logs, flags = create_table(clients.dynamodb, sort="N"), create_table(clients.dynamodb, sort="S")

    DynamoReplayLogAdapter(clients.dynamodb, logs, new_identifier).append(token({"delta": "x"}))
    DynamoInterruptAdapter(clients.dynamodb, flags, FixedClock()).request_interrupt(R)

    assert ends(clients, logs) == ends(clients, flags) == {DAY.total_seconds()}


def test_a_lease_is_never_dropped_by_itself(clients: AwsClients) -> None:
    table, usage = create_table(clients.dynamodb, sort=None), create_table(clients.dynamodb, sort="S")
    leases = create_lease_book(clients.dynamodb, leases=table, usage=usage)

    leases.acquire(C, R, ANN.scope, until=NOON)
    leases.claim(C, R, now=NOON, until=NOON)

    assert "expires_at" not in items(clients, table)[0]
    assert ends(clients, usage) == {2 * DAY.total_seconds()}


def test_a_caller_s_key_and_question_are_kept_as_digests_for_a_day(clients: AwsClients) -> None:
    leases, usage = create_table(clients.dynamodb, sort=None), create_table(clients.dynamodb, sort="S")
    asked = AdmissionRequest(
        scope=ANN.scope,
        conversation_id=C,
        run_id=R,
        now=NOON,
        until=NOON,
        limits=TurnLimits(),
        submission=parse_submission("my-key", ANN.scope, C, "my question"),
    )

    create_admissions(clients.dynamodb, leases=leases, usage=usage).admit(asked)

    assert not {"my-key", "my question"} & set(str(items(clients, usage)).split("'"))
    assert DAY.total_seconds() in ends(clients, usage)


@pytest.mark.parametrize("character", ["x", "ü", "🙂"])
def test_the_largest_envelope_is_logged_and_a_larger_one_is_our_bug(
    clients: AwsClients, character: str
) -> None:
    log = DynamoReplayLogAdapter(clients.dynamodb, create_table(clients.dynamodb, sort="N"), new_identifier)
    fitting = (MAX_PAYLOAD_BYTES - len('{"delta":""}')) // len(character.encode())

    with pytest.raises(ValueError, match="an envelope's payload may have"):
        log.append(token({"delta": character * (fitting + 1)}))
    log.append(token({"delta": character * fitting}))

    assert log.find_last(R) == token({"delta": character * fitting})


@pytest.mark.parametrize("payload", [{"score": float("nan")}, {"delta": "\ud800"}])
def test_what_is_not_json_is_our_bug(clients: AwsClients, payload: dict[str, object]) -> None:
    log = DynamoReplayLogAdapter(clients.dynamodb, create_table(clients.dynamodb, sort="N"), new_identifier)

    with pytest.raises(ValueError):
        log.append(token(payload))

    assert log.read(Marker(R), limit=9) == ()

"""ReplayLogPort, ConnectionPort and ChannelPort: over memory, over DynamoDB and over HTTP."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Protocol

import pytest
from equerry.adapters.aws.connections import DynamoConnectionAdapter
from equerry.adapters.aws.replay_log import DynamoReplayLogAdapter
from equerry.channel.envelope import Envelope, PayloadRef
from equerry.channel.marker import Marker
from equerry.domain.principal import Principal, Scope
from equerry.kernel.identifiers import (
    ArtifactId,
    ConnectionId,
    ConversationId,
    OrganisationId,
    ProjectId,
    RunId,
    UserId,
)
from equerry.ports.delivery import (
    ConnectionGone,
    ConnectionPort,
    EnvelopeExists,
    ReplayLogPort,
    TicketRefused,
)

from tests.contract.aws_backends import BACKENDS, create_table, new_identifier, start_aws
from tests.contract.racing import race
from tests.fakes.clock import NOON
from tests.fakes.delivery import MemoryConnectionAdapter, MemoryReplayLogAdapter

R, C, D = RunId("r-1"), ConversationId("c-1"), ConversationId("c-2")
TAB, PHONE = ConnectionId("L0SM9cOFvHcCIhw="), ConnectionId("M1TN8dPGwIdDJix=")
TICK = timedelta(microseconds=1)
SOON = NOON + timedelta(seconds=30)
ANN = Principal(
    scope=Scope(
        organisation_id=OrganisationId("acme"),
        user_id=UserId("ann"),
        role="admin",
        project_ids=(ProjectId("p2"), ProjectId("p1")),
    ),
    expires_at=NOON + timedelta(minutes=15, microseconds=3),
    name="Ann Österlund",
)
BOB = Principal(
    scope=Scope(organisation_id=OrganisationId("acme"), user_id=UserId("bob")), expires_at=ANN.expires_at
)


class Forgetting(Protocol):
    def __call__(self, run_id: RunId, *seqs: int) -> None: ...


@dataclass(frozen=True)
class Log:
    port: ReplayLogPort
    forget: Forgetting


@pytest.fixture(params=["memory", *BACKENDS])
def log(request: pytest.FixtureRequest) -> Iterator[Log]:
    if request.param == "memory":
        memory = MemoryReplayLogAdapter()
        yield Log(memory, memory.forget)
        return
    with start_aws(request.param) as clients:
        table = create_table(clients.dynamodb, sort="N")

        def forget(run_id: RunId, *seqs: int) -> None:
            for seq in seqs:
                clients.dynamodb.delete_item(
                    TableName=table, Key={"pk": {"S": run_id}, "sk": {"N": str(seq)}}
                )

        yield Log(DynamoReplayLogAdapter(clients.dynamodb, table, new_identifier), forget)


@pytest.fixture(params=["memory", *BACKENDS])
def connections(request: pytest.FixtureRequest) -> Iterator[ConnectionPort]:
    if request.param == "memory":
        yield MemoryConnectionAdapter()
        return
    with start_aws(request.param) as clients:
        yield DynamoConnectionAdapter(clients.dynamodb, create_table(clients.dynamodb, sort="S"))


def envelope(seq: int, *, run_id: RunId = R, delta: str = "word ") -> Envelope:
    return Envelope(
        type="token",
        run_id=run_id,
        conversation_id=C,
        seq=seq,
        at=NOON + timedelta(milliseconds=seq, microseconds=7),
        payload={"delta": delta, "refs": [{"n": 1, "score": 0.25}], "ok": True, "nothing": None},
    )


def test_what_was_logged_is_read_back_whole_and_in_order(log: Log) -> None:
    written = [envelope(seq, delta=f"“{seq}” ⟦1⟧ 🙂\n") for seq in range(1, 13)]
    for each in written:
        log.port.append(each)

    assert log.port.read(Marker(R), limit=100) == tuple(written)


def test_a_reference_to_a_payload_that_lies_elsewhere_is_read_back(log: Log) -> None:
    reference = PayloadRef(artifact_id=ArtifactId("a-1"), size_bytes=200_000)
    written = replace(envelope(1), payload={}, payload_ref=reference)
    log.port.append(written)

    assert log.port.read(Marker(R), limit=9) == (written,)
    assert log.port.find_last(R) == written


def test_a_reader_gets_what_follows_its_marker_and_no_more_than_it_asked_for(log: Log) -> None:
    for seq in range(1, 12):
        log.port.append(envelope(seq))

    assert [each.seq for each in log.port.read(Marker(R, 4), limit=3)] == [5, 6, 7]
    assert [each.seq for each in log.port.read(Marker(R, 9), limit=3)] == [10, 11]
    assert log.port.read(Marker(R, 11), limit=3) == ()


def test_runs_do_not_see_each_other(log: Log) -> None:
    log.port.append(envelope(1))
    log.port.append(envelope(1, run_id=RunId("r-2"), delta="other"))

    assert log.port.read(Marker(R), limit=9) == (envelope(1),)
    assert log.port.read(Marker(RunId("r-3")), limit=9) == ()


def test_a_seq_is_written_once(log: Log) -> None:
    log.port.append(envelope(1, delta="first"))

    with pytest.raises(EnvelopeExists):
        log.port.append(envelope(1, delta="second"))
    with pytest.raises(EnvelopeExists):
        log.port.append(envelope(1, delta="first"))

    assert log.port.read(Marker(R), limit=9) == (envelope(1, delta="first"),)


def test_of_writers_of_one_seq_at_one_moment_one_succeeds(log: Log) -> None:
    writers = [lambda n=n: log.port.append(envelope(1, delta=f"{n}")) for n in range(4)]

    won, lost = race(*writers)

    assert (len(won), [type(refused) for refused in lost]) == (1, [EnvelopeExists] * 3)
    assert len(log.port.read(Marker(R), limit=9)) == 1


def test_the_newest_envelope_is_found(log: Log) -> None:
    assert log.port.find_last(R) is None

    for seq in range(1, 12):
        log.port.append(envelope(seq))

    assert log.port.find_last(R) == envelope(11)


def test_what_was_forgotten_shows_at_the_front_of_a_read_and_never_inside_it(log: Log) -> None:
    for seq in range(1, 9):
        log.port.append(envelope(seq))
    log.forget(R, 1, 2, 5)

    first = log.port.read(Marker(R), limit=9)
    second = log.port.read(Marker(R, 4), limit=9)

    assert [each.seq for each in first] == [3, 4]
    assert [each.seq for each in second] == [6, 7, 8]


def test_envelopes_are_read_across_megabytes(log: Log) -> None:
    written = [envelope(seq, delta="x" * 300_000) for seq in range(1, 6)]
    for each in written:
        log.port.append(each)

    assert log.port.read(Marker(R), limit=9) == tuple(written)


def test_a_ticket_speaks_for_whom_it_was_issued_to(connections: ConnectionPort) -> None:
    connections.issue_ticket("t-ann", ANN, expires_at=SOON)
    connections.issue_ticket("t-bob", BOB, expires_at=SOON)

    assert connections.redeem_ticket("t-ann", now=NOON) == ANN
    assert connections.redeem_ticket("t-bob", now=NOON) == BOB


def test_a_ticket_is_used_once(connections: ConnectionPort) -> None:
    connections.issue_ticket("t", ANN, expires_at=SOON)
    connections.redeem_ticket("t", now=NOON)

    with pytest.raises(TicketRefused):
        connections.redeem_ticket("t", now=NOON)


def test_a_ticket_ends_at_its_moment(connections: ConnectionPort) -> None:
    connections.issue_ticket("t", ANN, expires_at=SOON)

    with pytest.raises(TicketRefused):
        connections.redeem_ticket("t", now=SOON)
    assert connections.redeem_ticket("t", now=SOON - TICK) == ANN


def test_a_ticket_that_was_never_issued_is_refused(connections: ConnectionPort) -> None:
    with pytest.raises(TicketRefused):
        connections.redeem_ticket("", now=NOON)


def test_of_two_that_use_a_ticket_at_one_moment_one_is_let_in(connections: ConnectionPort) -> None:
    connections.issue_ticket("t", ANN, expires_at=SOON)

    won, lost = race(*[lambda: connections.redeem_ticket("t", now=NOON)] * 4)

    assert won == [ANN]
    assert [type(refused) for refused in lost] == [TicketRefused] * 3


def test_a_connection_remembers_its_principal_until_it_closes(connections: ConnectionPort) -> None:
    assert connections.find_principal(TAB) is None

    connections.connect(TAB, ANN)
    assert connections.find_principal(TAB) == ANN

    connections.disconnect(TAB)
    assert connections.find_principal(TAB) is None


def test_forgetting_a_connection_that_is_not_there_is_not_an_error(connections: ConnectionPort) -> None:
    connections.disconnect(TAB)

    assert connections.find_principal(TAB) is None


def test_a_conversation_knows_all_who_listen(connections: ConnectionPort) -> None:
    for tab in (TAB, PHONE):
        connections.connect(tab, ANN)
        connections.subscribe(tab, C, until=SOON)
    connections.subscribe(PHONE, D, until=SOON)

    assert set(connections.list_subscribers(C, now=NOON)) == {TAB, PHONE}
    assert connections.list_subscribers(D, now=NOON) == (PHONE,)
    assert connections.list_subscribers(ConversationId("c-3"), now=NOON) == ()


@pytest.mark.parametrize("close", ["disconnect", "unsubscribe"])
def test_who_leaves_is_not_listed(connections: ConnectionPort, close: str) -> None:
    for tab in (TAB, PHONE):
        connections.connect(tab, ANN)
        connections.subscribe(tab, C, until=SOON)
        connections.subscribe(tab, D, until=SOON)

    if close == "disconnect":
        connections.disconnect(TAB)
    else:
        connections.unsubscribe(TAB, C)

    assert connections.list_subscribers(C, now=NOON) == (PHONE,)
    assert (TAB in connections.list_subscribers(D, now=NOON)) is (close == "unsubscribe")


def test_a_connection_that_comes_back_under_the_same_id_listens_to_nothing(
    connections: ConnectionPort,
) -> None:
    connections.connect(TAB, ANN)
    connections.subscribe(TAB, C, until=SOON)
    connections.disconnect(TAB)
    connections.connect(TAB, BOB)

    assert connections.list_subscribers(C, now=NOON) == ()


def test_a_subscription_ends_with_the_readers_token(connections: ConnectionPort) -> None:
    connections.connect(TAB, ANN)
    connections.subscribe(TAB, C, until=SOON)

    assert connections.list_subscribers(C, now=SOON - TICK) == (TAB,)
    assert connections.list_subscribers(C, now=SOON) == ()


def test_subscribing_again_moves_the_end(connections: ConnectionPort) -> None:
    connections.connect(TAB, ANN)
    connections.subscribe(TAB, C, until=SOON)
    connections.subscribe(TAB, C, until=SOON + TICK)

    assert connections.list_subscribers(C, now=SOON) == (TAB,)


def test_who_is_not_connected_cannot_listen(connections: ConnectionPort) -> None:
    with pytest.raises(ConnectionGone):
        connections.subscribe(TAB, C, until=SOON)

    assert connections.list_subscribers(C, now=NOON) == ()


def test_unsubscribing_what_was_never_subscribed_is_not_an_error(connections: ConnectionPort) -> None:
    connections.connect(TAB, ANN)
    connections.unsubscribe(TAB, C)

    assert connections.find_principal(TAB) == ANN


def test_no_subscription_outlives_a_connection_that_closes_meanwhile(connections: ConnectionPort) -> None:
    conversations = [ConversationId(f"c-{number}") for number in range(5)]
    for _ in range(5):
        connections.connect(TAB, ANN)
        race(
            *(lambda c=c: connections.subscribe(TAB, c, until=SOON) for c in conversations),
            lambda: connections.disconnect(TAB),
        )

        assert [connections.list_subscribers(c, now=NOON) for c in conversations] == [()] * 5


def test_connections_subscribe_to_one_conversation_at_one_moment(connections: ConnectionPort) -> None:
    tabs = [ConnectionId(f"tab-{number}") for number in range(8)]
    for tab in tabs:
        connections.connect(tab, replace(ANN, name=tab))

    race(*(lambda tab=tab: connections.subscribe(tab, C, until=SOON) for tab in tabs))

    assert set(connections.list_subscribers(C, now=NOON)) == set(tabs)

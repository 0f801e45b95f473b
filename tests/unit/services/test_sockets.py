"""A reader gets every envelope in order, whenever it comes and however often it returns."""

from datetime import datetime

import pytest
from equerry.channel.events import Step
from equerry.channel.report import DeliveryReport
from equerry.kernel.errors import NotFound, Unavailable
from equerry.kernel.identifiers import ConnectionId, ConversationId
from equerry.ports.delivery import TicketRefused
from equerry.services.subscriptions import TICKET_S, TicketService, TokenExpired
from equerry.surfaces.websocket.dispatch import receive_frame

from tests.fakes.delivery import MemoryChannelAdapter, MemoryConnectionAdapter
from tests.fakes.records import MemoryRunRecordAdapter
from tests.unit.services.world import ADA, EVE, World


class FlakyChannelAdapter(MemoryChannelAdapter):
    """Some sockets take nothing, and are open all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.flaky: set[ConnectionId] = set()

    def send(self, connection_id: ConnectionId, frame: str) -> None:
        if connection_id in self.flaky:
            raise Unavailable("the socket is busy")
        super().send(connection_id, frame)


class LostConnectionAdapter(MemoryConnectionAdapter):
    """Cannot say who listens."""

    def list_subscribers(self, conversation_id: ConversationId, *, now: datetime) -> tuple[ConnectionId, ...]:
        raise Unavailable("the table does not answer")


def seqs(frames: list[dict[str, object]]) -> list[object]:
    return [frame["seq"] for frame in frames if frame["seq"]]


@pytest.mark.req("F-ENV-01")
def test_a_reader_that_listens_from_the_start_gets_everything_in_order() -> None:
    world = World()
    conversation = world.open_conversation()
    reader = world.connect("reader")
    accepted = world.submit(conversation)

    world.sockets.subscribe(reader, conversation, run_id=accepted.run_id, after=0)
    world.deliver(accepted)

    frames = world.frames(reader)
    assert frames[0]["type"] == "subscribed"
    assert seqs(frames) == [envelope.seq for envelope in world.envelopes(accepted.run_id)]


def test_a_reader_that_comes_late_gets_the_same_as_one_that_was_there() -> None:
    world = World()
    conversation = world.open_conversation()
    early, late = world.connect("early"), world.connect("late")
    accepted = world.submit(conversation)
    world.sockets.subscribe(early, conversation, run_id=None, after=0)
    world.deliver(accepted)

    world.sockets.subscribe(late, conversation, run_id=accepted.run_id, after=0)

    assert world.frames(late)[1:] == world.frames(early)[1:]
    assert world.frames(late)[0]["payload"] == {"lastSeq": 7, "ended": True}


def test_a_reader_that_returns_gets_only_what_it_missed() -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)
    world.deliver(accepted)
    reader = world.connect("reader")

    world.sockets.subscribe(reader, conversation, run_id=accepted.run_id, after=4)

    assert seqs(world.frames(reader)) == [5, 6, 7]


def test_what_the_log_has_forgotten_is_told_and_not_hidden() -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)
    world.deliver(accepted)
    world.log.forget(accepted.run_id, 1, 2, 3)
    reader = world.connect("reader")

    world.sockets.subscribe(reader, conversation, run_id=accepted.run_id, after=1)

    kinds = [(frame["type"], frame["payload"]) for frame in world.frames(reader)][1]
    assert kinds == ("gap", {"after": 1, "next": 4})
    assert seqs(world.frames(reader)) == [4, 5, 6, 7]


def test_a_log_that_is_gone_altogether_is_a_gap_to_the_end() -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)
    world.deliver(accepted)
    world.log.forget(accepted.run_id, *range(1, 8))
    world.clock.advance(100_000)
    reader = world.connect("reader")

    world.sockets.subscribe(reader, conversation, run_id=accepted.run_id, after=0)

    assert [frame["type"] for frame in world.frames(reader)] == ["subscribed", "gap"]
    assert world.frames(reader)[1]["payload"] == {"after": 0, "next": 8}


@pytest.mark.req("A-EVT-14")
def test_a_socket_that_closes_in_mid_run_changes_nothing_for_the_run() -> None:
    world = World()
    conversation = world.open_conversation()
    reader = world.connect("reader")
    accepted = world.submit(conversation)
    world.sockets.subscribe(reader, conversation, run_id=accepted.run_id, after=0)
    world.channel.close_socket(reader)

    world.deliver(accepted)

    assert world.types(accepted.run_id)[-1] == "done"
    assert len(world.model.requests) == 1
    assert world.connections.find_principal(reader) is None


def test_two_tabs_see_the_same() -> None:
    world = World()
    conversation = world.open_conversation()
    tabs = [world.connect("one"), world.connect("two")]
    accepted = world.submit(conversation)
    for tab in tabs:
        world.sockets.subscribe(tab, conversation, run_id=accepted.run_id, after=0)

    world.deliver(accepted)

    assert world.frames(tabs[0])[1:] == world.frames(tabs[1])[1:]


def test_who_is_refused_a_run_listens_to_nothing() -> None:
    world = World()
    conversation, another = world.open_conversation(), world.open_conversation()
    accepted = world.submit(another)
    reader = world.connect("reader")

    with pytest.raises(NotFound):
        world.sockets.subscribe(reader, conversation, run_id=accepted.run_id, after=0)

    assert world.connections.list_subscribers(conversation, now=world.clock.now()) == ()


def test_a_stranger_cannot_listen() -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)
    spy = world.connect("spy", EVE)

    with pytest.raises(NotFound):
        world.sockets.subscribe(spy, conversation, run_id=accepted.run_id, after=0)
    world.deliver(accepted)

    assert world.frames(spy) == []


def test_a_run_of_another_conversation_is_not_replayed_through_ones_own() -> None:
    world = World()
    mine, other = world.open_conversation(), world.open_conversation()
    accepted = world.submit(other)
    reader = world.connect("reader")

    with pytest.raises(NotFound):
        world.sockets.subscribe(reader, mine, run_id=accepted.run_id, after=0)


def test_a_ticket_connects_once_and_not_after_its_time() -> None:
    world = World()
    reader = world.connect("reader")

    with pytest.raises(TicketRefused):
        world.sockets.connect(ConnectionId("again"), "ticket-reader")
    principal = world.connections.find_principal(reader)
    assert principal is not None
    tickets = TicketService(connections=world.connections, clock=world.clock, new_secret=lambda: "slow")
    tickets.issue(principal)
    world.clock.advance(TICKET_S)
    with pytest.raises(TicketRefused):
        world.sockets.connect(ConnectionId("late"), "slow")


def test_a_socket_hears_nothing_after_its_token_has_ended() -> None:
    world = World()
    conversation = world.open_conversation()
    reader = world.connect("reader")
    world.sockets.subscribe(reader, conversation, run_id=None, after=0)
    world.clock.advance(3_601)

    world.deliver(world.submit(conversation))

    assert [frame["type"] for frame in world.frames(reader)] == ["subscribed"]
    with pytest.raises(TokenExpired):
        world.sockets.subscribe(reader, conversation, run_id=None, after=0)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("not json", "invalid_request"),
        ("[1]", "invalid_request"),
        ('{"action":"dance"}', "invalid_request"),
        ('{"action":"subscribe"}', "invalid_request"),
        ('{"action":"subscribe","conversationId":"x"}', "invalid_request"),
        ('{"action":"subscribe","conversationId":"00000000-0000-0000-0000-000000000099"}', "not_found"),
        (
            '{"action":"subscribe","conversationId":"00000000-0000-0000-0000-000000000001","after":-1}',
            "invalid_request",
        ),
        ('{"action":"ping","extra":1}', "invalid_request"),
        ("x" * 5_000, "invalid_request"),
        ("[" * 4_000, "invalid_request"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_and_the_socket_stays(frame: str, code: str) -> None:
    world = World()
    world.open_conversation()
    reader = world.connect("reader")

    receive_frame(world.sockets, reader, frame)
    receive_frame(world.sockets, reader, '{"action":"ping"}')

    refused, pong = world.frames(reader)
    assert (refused["type"], refused["payload"]["code"]) == ("refused", code)
    assert pong["type"] == "pong"


def test_a_hole_in_the_middle_of_the_log_is_told_where_it_is() -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)
    world.deliver(accepted)
    world.log.forget(accepted.run_id, 3, 4)
    reader = world.connect("reader")

    world.sockets.subscribe(reader, conversation, run_id=accepted.run_id, after=0)

    told = [(frame["type"], frame["seq"]) for frame in world.frames(reader)][1:]
    assert [entry[1] for entry in told] == [1, 2, 0, 5, 6, 7]
    assert told[2][0] == "gap"


def test_a_token_that_ends_in_mid_run_ends_the_hearing_and_a_new_ticket_loses_nothing() -> None:
    world = World()
    conversation = world.open_conversation()
    reader = world.connect("reader")
    run_id = world.submit(conversation).run_id
    world.sockets.subscribe(reader, conversation, run_id=run_id, after=0)
    publisher = world.build_publisher(run_id, conversation)
    publisher.publish(Step(stage="composing", label="before"))
    world.clock.advance(3_601)

    publisher.publish(Step(stage="answering", label="after"))
    with pytest.raises(TokenExpired):
        world.sockets.subscribe(reader, conversation, run_id=run_id, after=1)
    again = world.connect("again")
    world.sockets.subscribe(again, conversation, run_id=run_id, after=1)
    publisher.publish(Step(stage="answering", label="live"))

    assert [frame["payload"].get("label") for frame in world.frames(reader)] == [None, "before"]
    assert [frame["payload"].get("label") for frame in world.frames(again)] == [None, "after", "live"]
    assert (publisher.report.reached, publisher.report.unheard) == (2, 1)


@pytest.mark.req("F-ENV-09")
def test_what_became_of_each_envelope_is_counted_and_no_socket_stands_in_another_s_way() -> None:
    channel = FlakyChannelAdapter()
    world = World(channel=channel)
    conversation = world.open_conversation()
    run_id = world.submit(conversation).run_id
    publisher = world.build_publisher(run_id, conversation)
    publisher.publish(Step(stage="composing", label="unheard"))
    for name in ("closed", "flaky", "well"):
        world.sockets.subscribe(world.connect(name), conversation, run_id=run_id, after=1)
    channel.flaky.add(ConnectionId("flaky"))
    channel.close_socket(ConnectionId("closed"))
    publisher.publish(Step(stage="answering", label="one of three"))
    world.sockets.unsubscribe(ConnectionId("well"), conversation)

    publisher.publish(Step(stage="answering", label="none of one"))

    assert publisher.report == DeliveryReport(
        envelopes=3, unheard=1, reached=1, gone=1, failed=2, undelivered_count=1, undelivered=(3,)
    )
    assert [f["payload"].get("label") for f in world.frames(ConnectionId("well"))] == [None, "one of three"]


def test_a_list_of_listeners_that_cannot_be_had_is_a_failure_and_not_an_empty_list() -> None:
    world = World(connections=LostConnectionAdapter())
    conversation = world.open_conversation()
    run_id = world.submit(conversation).run_id
    publisher = world.build_publisher(run_id, conversation)

    publisher.publish(Step(stage="composing", label="on"))

    assert publisher.report.undelivered == (1,)
    assert [envelope.seq for envelope in world.envelopes(run_id)] == [1]


@pytest.mark.req("F-ENV-09")
def test_what_became_of_a_run_s_envelopes_stays_with_the_run() -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)
    world.sockets.subscribe(world.connect("reader"), conversation, run_id=accepted.run_id, after=0)
    gone = world.connect("gone")
    world.sockets.subscribe(gone, conversation, run_id=accepted.run_id, after=0)
    world.channel.close_socket(gone)

    world.deliver(accepted)

    count = len(world.envelopes(accepted.run_id))
    kept = MemoryRunRecordAdapter(world.store).fetch_record(ADA, accepted.run_id).deliveries
    assert kept == {
        "envelopes": count,
        "unheard": 0,
        "reached": count,
        "gone": 1,
        "failed": 0,
        "undeliveredCount": 0,
        "undelivered": (),
    }

"""Stop, and send again: from another tab, at once, and whatever the run was doing."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from equerry.adapters.fixture.script import ScriptedRound, fail, replay, say
from equerry.domain.admission import Admission, AdmissionRequest
from equerry.domain.leases import Lease, TurnInProgress
from equerry.engine.model import TextDelta
from equerry.kernel.errors import NotFound, Unavailable
from equerry.kernel.identifiers import ConnectionId, ConversationId
from equerry.services.admission import QUEUE_LEASE_S, STOPPING_S
from equerry.services.turns import Acceptance
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.racing import race
from tests.fakes.admission import MemoryAdmissionAdapter
from tests.unit.services.world import ADA, BEN, World

PATIENCE_S = 30.0


def charged(world: World) -> int:
    window = world.admissions.windows.get(ADA.organisation_id)
    return sum(window.hours.values()) if window else 0


@contextmanager
def answering(world: World, accepted: Acceptance) -> Iterator[threading.Event]:
    """Let a worker be in mid-answer; set the event, and it goes on."""
    speaks, go_on = threading.Event(), threading.Event()

    def wait(_request: object) -> ScriptedRound:
        speaks.set()
        go_on.wait(PATIENCE_S)
        return say("Half", " an answer.")

    world.model._script = wait
    worker = threading.Thread(target=world.deliver, args=(accepted,))
    worker.start()
    assert speaks.wait(PATIENCE_S)
    yield go_on
    go_on.set()
    worker.join()


def test_a_run_that_no_worker_has_taken_ends_at_once_and_its_question_can_be_put_again() -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)

    run = world.turns.cancel(ADA, accepted.run_id)
    again = world.submit(conversation)

    assert (run.status, run.stop_reason) == ("ended", "cancelled")
    assert world.types(accepted.run_id) == ["accepted", "done"]
    assert [envelope.seq for envelope in world.envelopes(accepted.run_id)][-1] == run.last_seq
    assert world.deliver(accepted) == "not_ours"
    assert world.model.requests == []
    assert world.deliver(again) == "answered"


def test_what_a_stopped_waiting_run_reserved_comes_back() -> None:
    world = World()
    accepted = world.submit(world.open_conversation())

    world.turns.cancel(ADA, accepted.run_id)
    world.turns.cancel(ADA, accepted.run_id)

    assert charged(world) == 0


@pytest.mark.parametrize("stranger", [BEN])
def test_a_stranger_stops_nothing(stranger: object) -> None:
    world = World()
    accepted = world.submit(world.open_conversation())

    with pytest.raises(NotFound):
        world.turns.cancel(BEN, accepted.run_id)
    assert world.deliver(accepted) == "answered"


def test_a_question_sent_right_after_stop_waits_for_the_run_to_let_go_and_is_accepted() -> None:
    world = World()
    conversation = world.open_conversation()
    first = world.submit(conversation)
    with answering(world, first):
        assert world.turns.cancel(ADA, first.run_id).status == "running"
        # The worker's threads need real time, however much there is.
        world.clock.sleep = lambda _: time.sleep(0.01)  # type: ignore[method-assign,assignment]

        second = world.submit(conversation, "And now?")

    assert world.store.runs[first.run_id].stop_reason == "cancelled"
    assert second.run_id != first.run_id


@pytest.mark.req("A-LEASE-01")
def test_a_run_that_nobody_stopped_refuses_the_next_question_without_any_wait() -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)

    def never(_seconds: float) -> None:
        raise AssertionError("it waited")

    with answering(world, accepted):
        world.clock.sleep = never  # type: ignore[method-assign,assignment]
        with pytest.raises(TurnInProgress):
            world.submit(conversation, "And now?")


class SlowlyAdmitting(MemoryAdmissionAdapter):
    """Something happens between a refusal and its being heard of, once."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    def admit(self, request: AdmissionRequest) -> Admission:
        try:
            return super().admit(request)
        except TurnInProgress:
            meanwhile, self.meanwhile = self.meanwhile, lambda: None
            meanwhile()
            raise


@pytest.mark.req("A-LEASE-05")
def test_a_run_that_lets_go_while_the_next_question_is_refused_does_not_stand_in_its_way() -> None:
    world = World(script=replay([say("One."), say("Two.")]))
    world.admissions = admissions = SlowlyAdmitting(world.leases)
    conversation = world.open_conversation()
    first = world.submit(conversation)
    admissions.meanwhile = lambda: world.deliver(first)

    second = world.submit(conversation, "And now?")

    assert world.types(first.run_id)[-1] == "done"
    assert world.deliver(second) == "answered"


def test_a_run_that_does_not_stop_in_time_still_refuses_the_next_question() -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)
    asked = world.interrupts.is_interrupted
    world.interrupts.is_interrupted = lambda run_id: (  # type: ignore[method-assign]
        threading.current_thread().name != "pulse" and asked(run_id)
    )
    with answering(world, accepted):
        world.turns.cancel(ADA, accepted.run_id)
        began_s = world.clock.monotonic_s()

        with pytest.raises(TurnInProgress):
            world.submit(conversation, "And now?")

        assert STOPPING_S <= world.clock.monotonic_s() - began_s < STOPPING_S + 1
    assert charged(world) < 158_000


def cancelled(world: World, accepted: Acceptance) -> None:
    with answering(world, accepted):
        world.turns.cancel(ADA, accepted.run_id)
        deadline_s = time.monotonic() + PATIENCE_S
        while world.store.runs[accepted.run_id].status != "ended" and time.monotonic() < deadline_s:
            time.sleep(0.01)
    assert world.store.runs[accepted.run_id].stop_reason == "cancelled"


def failed(world: World, accepted: Acceptance) -> None:
    world.model._script = replay([fail(Unavailable("gone"), TextDelta("Half"))])
    world.deliver(accepted)


def broken(world: World, accepted: Acceptance) -> None:
    def crash(_request: object) -> ScriptedRound:
        raise ZeroDivisionError("a bug of ours")

    world.model._script = crash
    with pytest.raises(ZeroDivisionError):
        world.deliver(accepted)


def stopped_before_it_began(world: World, accepted: Acceptance) -> None:
    world.turns.cancel(ADA, accepted.run_id)


def lost_its_channel(world: World, accepted: Acceptance) -> None:
    socket = world.connect("page")
    world.sockets.subscribe(socket, accepted.conversation_id, run_id=None, after=0)
    world.channel.close_socket(socket)
    world.deliver(accepted)


@pytest.mark.req("A-LEASE-04", "A-LEASE-05", "A-BUDG-03")
@pytest.mark.parametrize("end", [cancelled, failed, broken, stopped_before_it_began, lost_its_channel])
def test_however_a_run_ends_whoever_hears_of_it_may_ask_again_at_once(
    end: Callable[[World, Acceptance], None],
) -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)
    heard: list[str] = []
    world.sockets.subscribe(world.connect("reader"), conversation, run_id=None, after=0)
    send = world.channel.send

    def ask_when_done(connection_id: ConnectionId, frame: str) -> None:
        send(connection_id, frame)
        if json.loads(frame)["type"] == "done" and not heard:
            heard.append(world.submit(conversation, "And now?").run_id)

    world.channel.send = ask_when_done  # type: ignore[method-assign]

    end(world, accepted)

    assert world.types(accepted.run_id).count("done") == 1
    lease = world.leases.find_lease(conversation)
    assert lease is not None
    assert [lease.run_id] == heard


@pytest.mark.req("A-LEASE-06")
def test_a_question_whose_worker_never_came_lapses_by_the_clock_and_not_before() -> None:
    world = World()
    conversation = world.open_conversation()
    dead = world.submit(conversation)
    lease = world.leases.find_lease(conversation)
    assert lease is not None

    world.clock.advance(QUEUE_LEASE_S - 1)
    assert world.recovery.settle_lapsed() == 0
    with pytest.raises(TurnInProgress):
        world.submit(conversation, "And now?")
    world.clock.advance(1)
    # Nothing has deleted it: it counts as lapsed in the condition alone.
    assert world.leases.find_lease(conversation) == lease
    again = world.submit(conversation, "And now?")

    assert QUEUE_LEASE_S == 300 + 30
    assert world.store.runs[dead.run_id].stop_reason == "interrupted"
    assert world.deliver(again) == "answered"


@pytest.mark.req("A-LEASE-07")
def test_a_worker_that_was_taken_over_releases_nothing() -> None:
    world = World()
    conversation = world.open_conversation()
    world.submit(conversation)
    lease: Lease | None = world.leases.find_lease(conversation)
    assert lease is not None
    now = world.clock.now()
    taken = world.leases.claim(conversation, lease.run_id, now=now, until=now)

    assert not world.admissions.settle(lease, spent=0)
    assert world.leases.find_lease(conversation) == taken


@pytest.mark.req("A-LEASE-01", "A-LEASE-03")
@settings(deadline=None, max_examples=60)
@given(tabs=st.integers(2, 5))
def test_of_questions_sent_at_once_from_several_tabs_exactly_one_is_accepted(tabs: int) -> None:
    world = World()
    conversation = world.open_conversation()

    def send(number: int) -> Callable[[], Acceptance]:
        process = world.turns  # each tab's request is served by a process of its own
        return lambda: process.submit(ADA, conversation, f"Tab {number}?")

    won, refused = race(*(send(number) for number in range(tabs)))

    assert len(won) == 1
    assert [failure.code for failure in refused] == ["turn_in_progress"] * (tabs - 1)
    assert len(world.store.messages[conversation]) == 1
    assert list_queued(world) == [won[0].conversation_id]
    assert charged(world) == 158_000


def list_queued(world: World) -> list[ConversationId]:
    queued = []
    while delivery := world.queue.receive():
        queued.append(delivery.conversation_id)
        world.queue.delete(delivery.receipt)
    return queued

"""Whatever dies and whatever is delivered twice, an accepted run ends once, visibly."""

import contextlib
import threading
from datetime import timedelta

import pytest
from equerry.adapters.fixture.script import replay, say
from equerry.domain.admission import AdmissionRequest
from equerry.domain.leases import LeaseLost
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import RunId
from equerry.services.admission import QUEUE_LEASE_S
from equerry.services.pulse import ALIVE_S
from equerry.services.recovery import INTERRUPTED, INTERRUPTED_LATE
from equerry.services.turns import Acceptance

from tests.unit.services.endings import assert_ended_once, assert_settled, live_world
from tests.unit.services.world import ADA, Mortality, ProcessKilled, World

EFFECTS = 24


@pytest.mark.req("F-ENV-07", "A-BUDG-08")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("kill_at", range(1, EFFECTS + 1))
def test_a_worker_killed_at_any_effect_leaves_a_run_that_redelivery_ends(kill_at: int, after: bool) -> None:
    world = live_world(kill_at, after=after)
    accepted = world.submit(world.open_conversation())
    with contextlib.suppress(ProcessKilled):
        world.deliver(accepted)
    asked_before = len(world.model.requests)

    world.fate = Mortality()
    world.clock.advance(ALIVE_S + 10)
    world.deliver(accepted)
    world.recovery.settle_lapsed()

    assert_ended_once(world, accepted)
    if asked_before:
        assert len(world.model.requests) == asked_before
    world.deliver(world.submit(accepted.conversation_id))


@pytest.mark.parametrize("kill_at", range(1, EFFECTS + 1))
def test_the_reaper_ends_what_no_queue_brings_back(kill_at: int) -> None:
    world = live_world(kill_at, after=True)
    accepted = world.submit(world.open_conversation())
    with contextlib.suppress(ProcessKilled):
        world.deliver(accepted)

    world.fate = Mortality()
    world.clock.advance(QUEUE_LEASE_S + 1)
    world.recovery.settle_lapsed()

    assert_ended_once(world, accepted)


def test_the_effects_that_are_killed_are_all_there_are() -> None:
    world = live_world()
    world.deliver(world.submit(world.open_conversation()))

    assert len(world.fate.effects) == EFFECTS


def test_a_settler_that_dies_as_well_is_followed_by_another() -> None:
    for kill_at in range(1, 14):
        world = live_world(14, after=True)
        accepted = world.submit(world.open_conversation())
        with pytest.raises(ProcessKilled):
            world.deliver(accepted)
        world.clock.advance(ALIVE_S + 1)
        world.fate = Mortality(kill_at=kill_at, after=True)
        with contextlib.suppress(ProcessKilled):
            world.recovery.settle_lapsed()
        world.fate = Mortality()
        world.clock.advance(ALIVE_S + 1)
        world.recovery.settle_lapsed()

        assert_ended_once(world, accepted)


def test_a_reader_of_an_interrupted_run_is_told_and_keeps_what_was_written() -> None:
    world = live_world()
    accepted = world.submit(world.open_conversation())
    killed = world.fate.effects
    world.fate = Mortality(kill_at=17, after=True, effects=killed)
    with pytest.raises(ProcessKilled):
        world.deliver(accepted)
    assert "token" in world.types(accepted.run_id)
    world.fate = Mortality()
    world.clock.advance(ALIVE_S + 1)

    world.recovery.settle_lapsed()

    *_, error, done = world.envelopes(accepted.run_id)
    assert error.payload == {"code": "interrupted", "message": INTERRUPTED_LATE}
    assert done.payload["stopReason"] == "interrupted"
    view = world.reading.fetch_view(ADA, accepted.run_id)
    assert view.answer is not None
    assert view.answer.text.startswith("Hello")


def test_the_next_question_settles_what_a_dead_worker_left_without_waiting_for_the_reaper() -> None:
    world = live_world(12, after=True)
    accepted = world.submit(world.open_conversation())
    with pytest.raises(ProcessKilled):
        world.deliver(accepted)
    world.fate = Mortality()
    world.clock.advance(ALIVE_S + 1)

    following = world.submit(accepted.conversation_id)

    assert world.types(accepted.run_id)[-1] == "done"
    world.deliver(following)
    assert_ended_once(world, following)


def test_an_entry_point_that_died_before_it_wrote_the_turn_blocks_nobody_for_longer_than_the_lease() -> None:
    world = World()
    conversation = world.open_conversation()
    now = world.clock.now()
    request = AdmissionRequest(
        scope=ADA,
        conversation_id=conversation,
        run_id=RunId(world.new_id()),
        now=now,
        until=now + timedelta(seconds=QUEUE_LEASE_S),
        limits=world.limits,
    )
    world.admissions.admit(request)

    world.clock.advance(QUEUE_LEASE_S)

    accepted = world.submit(conversation)
    world.deliver(accepted)
    assert_settled(world)


def test_a_message_delivered_twice_runs_once() -> None:
    world = World()
    accepted = world.submit(world.open_conversation())

    assert [world.deliver(accepted), world.deliver(accepted)] == ["answered", "not_ours"]
    assert len(world.model.requests) == 1
    assert_ended_once(world, accepted)


@pytest.mark.req("A-LEASE-07")
def test_two_workers_on_one_run_give_one_answer() -> None:
    world = World(script=replay([say("one"), say("two")]))
    accepted = world.submit(world.open_conversation())
    barrier, handled = threading.Barrier(2), list[str]()

    def work() -> None:
        barrier.wait()
        handled.append(world.deliver(accepted))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(handled) == ["answered", "not_ours"]
    assert len(world.model.requests) == 1
    assert_ended_once(world, accepted)


def test_a_frozen_worker_that_wakes_after_it_was_replaced_writes_nothing_more() -> None:
    world = World()
    accepted = world.submit(world.open_conversation())
    woken: list[str] = []

    def freeze(_request: object) -> object:
        # While this worker stands still its lease lapses, and another ends the run.
        world.clock.advance(ALIVE_S + 1)
        world.recovery.settle_lapsed()
        woken.append("awake")
        return say("I am still here.")

    world.model._script = freeze  # type: ignore[assignment]

    assert world.deliver(accepted) == "not_ours"
    assert woken == ["awake"]
    assert_ended_once(world, accepted)
    assert "still here" not in str([envelope.payload for envelope in world.envelopes(accepted.run_id)])


def test_a_lost_lease_is_never_released_by_who_lost_it() -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)
    now = world.clock.now()
    first = world.leases.claim(conversation, accepted.run_id, now=now, until=now + timedelta(seconds=1))
    world.clock.advance(2)
    now = world.clock.now()
    second = world.leases.claim(conversation, accepted.run_id, now=now, until=now + timedelta(seconds=9))

    assert not world.admissions.settle(first, spent=0)
    with pytest.raises(LeaseLost):
        world.leases.renew(first, until=now)
    assert world.leases.find_lease(conversation) == second


def lose_lease(world: World, accepted: Acceptance) -> None:
    """Let the store of leases and the queue come back empty."""
    world.leases = type(world.leases)()
    assert world.leases.find_lease(accepted.conversation_id) is None


@pytest.mark.parametrize("look", ["run", "conversation"])
def test_a_run_whose_lease_was_lost_with_its_store_ends_when_somebody_looks(look: str) -> None:
    world = live_world()
    accepted = world.submit(world.open_conversation())
    lose_lease(world, accepted)

    if look == "run":
        world.reading.fetch_view(ADA, accepted.run_id)
    else:
        world.conversations.fetch_view(ADA, accepted.conversation_id)

    assert world.types(accepted.run_id) == ["accepted", "error", "done"]
    assert world.store.runs[accepted.run_id].last_seq == 3
    assert world.store.runs[accepted.run_id].stop_reason == "interrupted"
    error = world.envelopes(accepted.run_id)[-2]
    assert error.payload == {"code": "interrupted", "message": INTERRUPTED}


def test_looking_at_a_run_that_waits_or_works_does_not_end_it() -> None:
    world = live_world()
    accepted = world.submit(world.open_conversation())

    world.reading.fetch_view(ADA, accepted.run_id)
    world.conversations.fetch_view(ADA, accepted.conversation_id)
    assert world.deliver(accepted) == "answered"

    world.conversations.fetch_view(ADA, accepted.conversation_id)
    assert world.store.runs[accepted.run_id].stop_reason == "end_turn"


@pytest.mark.req("F-RUN-05")
def test_a_run_that_was_stopped_while_it_waited_never_asks_a_model() -> None:
    world = live_world()
    accepted = world.submit(world.open_conversation())
    world.turns.cancel(ADA, accepted.run_id)

    world.deliver(accepted)

    assert world.model.requests == []
    assert world.store.runs[accepted.run_id].stop_reason == "cancelled"
    assert_ended_once(world, accepted)


def test_a_store_that_fails_is_not_named_to_the_reader() -> None:
    world = live_world()
    accepted = world.submit(world.open_conversation())

    def down(*_: object, **__: object) -> None:
        raise Unavailable("could not query table turns-1a2b: EndpointConnectionError")

    world.build_tools = down  # type: ignore[assignment]  # an outage
    world.deliver(accepted)

    error = world.envelopes(accepted.run_id)[-2].payload
    assert error["code"] == "service_unavailable"
    assert "table" not in str(error["message"])


def test_a_message_is_hidden_before_its_run_is_claimed() -> None:
    world = live_world(1)
    accepted = world.submit(world.open_conversation())
    hidden: list[tuple[str, int]] = []
    world.queue.hide_message = lambda receipt, *, seconds: hidden.append((receipt, seconds))  # type: ignore[method-assign]

    with pytest.raises(ProcessKilled):
        world.worker.execute(accepted.run_id, accepted.conversation_id, receipt="receipt-1")

    assert hidden == [("receipt-1", 40)]

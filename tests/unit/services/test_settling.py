"""Whoever settles what another left meets others at the same log, and the run ends once."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from equerry.channel.envelope import Envelope
from equerry.kernel.errors import Unavailable
from equerry.services.admission import QUEUE_LEASE_S
from equerry.services.pulse import ALIVE_S
from equerry.services.turns import Acceptance

from tests.fakes.delivery import MemoryReplayLogAdapter
from tests.unit.services.endings import assert_ended_once, live_world
from tests.unit.services.world import ADA, Mortality, ProcessKilled, World


class ContestedLog(MemoryReplayLogAdapter):
    """A log in which somebody else takes the place before the n-th envelope gets there."""

    def __init__(self) -> None:
        super().__init__()
        self.countdown = 0
        self.interfere: Callable[[Envelope], None] = lambda _: None

    def append(self, envelope: Envelope) -> None:
        self.countdown -= 1
        if self.countdown == 0:
            self.interfere(envelope)
        super().append(envelope)


def break_off_in_mid_answer(world: World) -> Acceptance:
    accepted = world.submit(world.open_conversation())
    world.fate = Mortality(kill_at=17, after=True)
    with pytest.raises(ProcessKilled):
        world.deliver(accepted)
    world.fate = Mortality()
    world.clock.advance(ALIVE_S + 1)
    assert world.types(accepted.run_id)[-1] == "token"
    return accepted


@pytest.mark.req("A-LEASE-07", "F-ENV-07")
def test_the_last_text_of_a_worker_that_lost_its_run_does_not_cost_the_log_its_end() -> None:
    log = ContestedLog()
    world = replace(live_world(), log=log)
    accepted = break_off_in_mid_answer(world)
    late = next(envelope for envelope in world.envelopes(accepted.run_id) if envelope.type == "token")

    log.interfere = lambda envelope: MemoryReplayLogAdapter.append(log, replace(late, seq=envelope.seq))
    log.countdown = 1
    world.recovery.settle_lapsed()

    assert_ended_once(world, accepted)


@pytest.mark.parametrize("place", [1, 2, 3])
def test_two_settlers_at_once_write_one_end(place: int) -> None:
    log = ContestedLog()
    world = replace(live_world(), log=log)
    accepted = break_off_in_mid_answer(world)

    def settle_as_well(_envelope: Envelope) -> None:
        world.recovery.complete_log(ADA, world.store.runs[accepted.run_id])

    log.interfere, log.countdown = settle_as_well, place
    world.recovery.settle_lapsed()

    assert_ended_once(world, accepted)
    assert world.types(accepted.run_id)[-3:] == ["message", "error", "done"]


def test_a_run_whose_end_somebody_else_told_is_counted_once_by_whoever_ended_it() -> None:
    log = ContestedLog()
    world = replace(live_world(), log=log)
    conversation = world.open_conversation()
    accepted = world.submit(conversation)

    def ask_again(envelope: Envelope) -> None:
        if envelope.type == "message":
            lease = world.leases.find_lease(conversation)
            assert lease is not None
            assert world.recovery.settle(lease)
        else:
            log.countdown = 1

    log.interfere, log.countdown = ask_again, 1
    handling = world.deliver(accepted)

    assert handling == "not_ours"
    assert_ended_once(world, accepted)
    assert len(world.metrics.list_amounts("Turns")) == 1


def test_the_record_of_a_run_that_was_ended_for_it_tells_how_its_end_was_delivered() -> None:
    world = live_world()
    conversation = world.open_conversation()
    world.sockets.subscribe(world.connect("page"), conversation, run_id=None, after=0)
    accepted = world.submit(conversation)
    world.clock.advance(QUEUE_LEASE_S + 1)

    world.recovery.settle_lapsed()

    told = world.explaining.fetch_record(ADA, accepted.run_id).deliveries
    assert told is not None
    assert (told["envelopes"], told["reached"], told["failed"]) == (3, 3, 0)


def test_a_log_that_never_stops_being_written_is_left_to_the_next_settler() -> None:
    log = ContestedLog()
    world = replace(live_world(), log=log)
    accepted = break_off_in_mid_answer(world)
    late = next(envelope for envelope in world.envelopes(accepted.run_id) if envelope.type == "token")

    def write_on(envelope: Envelope) -> None:
        MemoryReplayLogAdapter.append(log, replace(late, seq=envelope.seq))
        log.countdown = 1

    log.interfere, log.countdown = write_on, 1
    with pytest.raises(Unavailable, match=accepted.run_id):
        world.recovery.settle_lapsed()

    log.interfere = lambda _: None
    world.clock.advance(ALIVE_S + 1)
    world.recovery.settle_lapsed()
    assert_ended_once(world, accepted)


def test_a_lease_that_cannot_be_settled_keeps_no_other_waiting() -> None:
    log = ContestedLog()
    world = replace(live_world(), log=log)
    stuck, other = (world.submit(world.open_conversation()) for _ in range(2))
    world.clock.advance(QUEUE_LEASE_S + 1)

    def fail(envelope: Envelope) -> None:
        log.countdown = 1
        if envelope.run_id == stuck.run_id:
            raise Unavailable("the log does not answer")

    log.interfere, log.countdown = fail, 1
    with pytest.raises(Unavailable, match="does not answer"):
        world.recovery.settle_lapsed()

    assert world.types(other.run_id)[-1] == "done"
    assert world.leases.find_lease(other.conversation_id) is None
    assert world.leases.find_lease(stuck.conversation_id) is not None

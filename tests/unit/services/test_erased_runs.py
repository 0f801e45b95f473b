"""What was queued or under way for a person who is being erased ends without effect."""

from equerry.services.turns import Acceptance

from tests.fakes.retention import MemoryRetentionAdapter
from tests.unit.services.world import World


def erase(world: World) -> None:
    """Leave what an erasure leaves: neither lease, nor conversation, nor log."""
    world.leases.held.clear()
    retention = MemoryRetentionAdapter(world.store)
    world.clock.advance(1)
    retention.delete_conversations(unchanged_since=world.clock.now(), limit=10)


def test_a_queued_run_of_an_erased_person_is_dropped_without_asking_a_model() -> None:
    world = World()
    accepted = world.submit(world.open_conversation())
    erase(world)

    assert world.deliver(accepted) == "not_ours"
    assert world.deliver(accepted) == "not_ours"

    assert world.envelopes(accepted.run_id) == ()
    assert world.store.messages == {}
    assert world.store.usages == {}
    assert world.leases.held == {}


def test_a_worker_that_claims_between_the_rows_and_the_lease_writes_no_row() -> None:
    """The rows went while its lease was still there: it finds no run, frees the conversation and ends."""
    world = World()
    accepted: Acceptance = world.submit(world.open_conversation())
    held = dict(world.leases.held)
    erase(world)
    world.leases.held.update(held)

    world.deliver(accepted)

    assert world.store.messages == {}
    assert world.store.runs == {}
    assert world.store.usages == {}

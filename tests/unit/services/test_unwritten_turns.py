"""A turn takes its conversation before it is written: until then, or for ever, nobody can see its run."""

from datetime import timedelta

import pytest
from equerry.domain.admission import AdmissionRequest
from equerry.domain.conversations import ConversationArchived
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.services.admission import QUEUE_LEASE_S

from tests.unit.services.world import ADA, World


def admit_only(world: World, conversation_id: ConversationId) -> RunId:
    """Be the entry point between the counters and the database, or one that died there."""
    run_id, now = RunId(world.new_id()), world.clock.now()
    world.admissions.admit(
        AdmissionRequest(
            scope=ADA,
            conversation_id=conversation_id,
            run_id=run_id,
            now=now,
            until=now + timedelta(seconds=QUEUE_LEASE_S),
            limits=world.limits,
        )
    )
    return run_id


def test_a_conversation_in_which_a_turn_is_being_written_can_be_archived() -> None:
    world = World()
    conversation = world.open_conversation()
    admit_only(world, conversation)

    world.conversations.archive(ADA, conversation)

    assert world.conversations.show_active(ADA, limit=9).conversations == ()
    with pytest.raises(ConversationArchived):
        world.submit(conversation)


def test_whoever_listens_while_a_turn_is_being_written_hears_it_when_it_is() -> None:
    world = World()
    conversation = world.open_conversation()
    reader = world.connect("reader")
    admit_only(world, conversation)

    world.sockets.subscribe(reader, conversation, run_id=None, after=0)
    world.clock.advance(QUEUE_LEASE_S)
    accepted = world.submit(conversation)
    world.deliver(accepted)

    subscribed, *heard = world.frames(reader)
    assert subscribed["type"] == "subscribed"
    assert subscribed["payload"] == {"lastSeq": 0, "ended": True}
    assert [frame["type"] for frame in heard] == world.types(accepted.run_id)


def test_a_conversation_names_no_run_that_nobody_can_read() -> None:
    world = World()
    conversation = world.open_conversation()
    admit_only(world, conversation)

    before = world.conversations.fetch_view(ADA, conversation)
    world.clock.advance(QUEUE_LEASE_S)
    accepted = world.submit(conversation)
    after = world.conversations.fetch_view(ADA, conversation)

    assert before.active_run_id is None
    assert after.active_run_id == accepted.run_id

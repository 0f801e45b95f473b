"""The queue took a run but its answer was lost: whoever has the run by then keeps it."""

import threading
from collections.abc import Callable

import pytest
from equerry.adapters.fixture.script import ScriptedRound, say
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import ConversationId, RunId

from tests.unit.services.world import World

PATIENCE_S = 30.0


def lose_answers(world: World, meanwhile: Callable[[RunId, ConversationId], object]) -> None:
    """Let the queue take runs, and something happen before its caller hears that it failed."""
    enqueue = world.queue.enqueue_run

    def take(run_id: RunId, conversation_id: ConversationId) -> None:
        enqueue(run_id, conversation_id)
        meanwhile(run_id, conversation_id)
        raise Unavailable("the queue did not answer")

    world.queue.enqueue_run = take  # type: ignore[method-assign]


@pytest.mark.req("A-LEASE-05")
def test_a_run_that_a_worker_has_begun_is_accepted_although_the_queue_did_not_confirm_it() -> None:
    world = World()
    conversation = world.open_conversation()
    speaks, go_on, workers = threading.Event(), threading.Event(), list[threading.Thread]()

    def wait(_request: object) -> ScriptedRound:
        speaks.set()
        go_on.wait(PATIENCE_S)
        return say("Hello.")

    def begin(run_id: RunId, conversation_id: ConversationId) -> None:
        workers.append(threading.Thread(target=world.worker.execute, args=(run_id, conversation_id)))
        workers[0].start()
        assert speaks.wait(PATIENCE_S)

    world.model._script = wait
    lose_answers(world, begin)

    accepted = world.submit(conversation)
    go_on.set()
    workers[0].join()

    run = world.store.runs[accepted.run_id]
    assert (run.status, run.stop_reason) == ("ended", "end_turn")
    assert world.types(accepted.run_id)[-2:] == ["message", "done"]
    assert world.leases.find_lease(conversation) is None


def test_a_run_that_a_worker_has_ended_is_accepted_although_the_queue_did_not_confirm_it() -> None:
    world = World()
    lose_answers(world, world.worker.execute)

    accepted = world.submit(world.open_conversation())

    assert world.store.runs[accepted.run_id].stop_reason == "end_turn"


def test_a_run_that_was_given_up_is_begun_by_no_worker_that_comes_later() -> None:
    world = World()
    conversation = world.open_conversation()
    lose_answers(world, lambda *_: None)

    with pytest.raises(Unavailable):
        world.submit(conversation)

    delivery = world.queue.receive()
    assert delivery is not None
    assert world.worker.execute(delivery.run_id, conversation) == "not_ours"
    assert world.model.requests == []

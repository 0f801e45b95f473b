"""One turn, from the question to its one `done`."""

import threading
from collections.abc import Mapping
from datetime import timedelta

import pytest
from equerry.adapters.fixture.script import call, fail, replay, say
from equerry.domain.leases import TurnInProgress
from equerry.domain.profiles import UnknownProfile
from equerry.engine.model import TextDelta, ToolSpec
from equerry.engine.tool import ToolEffect, ToolOutcome
from equerry.kernel.errors import EquerryError, InvalidInput, NotFound, Refused, TooLarge, Unavailable
from equerry.ports.model import ModelUnavailable

from tests.unit.services.world import ADA, BEN, EVE, World


@pytest.mark.req("F-ARCH-03", "F-ARCH-04", "F-ORCH-01", "F-ORCH-03", "F-ORCH-04", "F-ORCH-05")
def test_a_turn_is_acknowledged_with_its_identity_and_answered_later() -> None:
    world = World()
    conversation = world.open_conversation()

    accepted = world.submit(conversation, "What now?")

    assert world.types(accepted.run_id) == []
    run = world.reading.fetch_view(ADA, accepted.run_id).run
    assert (run.status, run.mode, run.mode_reason) == ("queued", "queued", "needs_model")
    assert world.deliver(accepted) == "answered"
    assert world.types(accepted.run_id) == [
        "accepted",
        "step",
        "step",
        "token",
        "token",
        "message",
        "done",
    ]


@pytest.mark.req("F-ENV-06", "F-ENV-07", "A-EVT-09", "A-EVT-13", "F-ORCH-02", "F-ORCH-07")
def test_envelopes_are_gapless_and_done_is_last_and_once() -> None:
    world = World()
    accepted = world.submit(world.open_conversation())

    world.deliver(accepted)

    seqs = [envelope.seq for envelope in world.envelopes(accepted.run_id)]
    assert seqs == list(range(1, len(seqs) + 1))
    assert world.types(accepted.run_id).count("done") == 1
    assert "continuation_claimed" not in world.types(accepted.run_id)
    view = world.reading.fetch_view(ADA, accepted.run_id)
    assert view.run.last_seq == seqs[-1]
    assert view.answer is not None
    assert view.answer.text == "Hello there."
    assert view.answer.message_id == accepted.assistant_message_id


@pytest.mark.req("A-LEASE-04")
def test_the_conversation_is_free_before_anyone_hears_of_the_end() -> None:
    world = World()
    conversation = world.open_conversation()
    reader = world.connect("reader")
    accepted = world.submit(conversation)
    world.sockets.subscribe(reader, conversation, run_id=accepted.run_id, after=0)
    free_at_done: list[bool] = []
    send = world.channel.send

    def watch(connection_id: object, frame: str) -> None:
        if '"done"' in frame:
            free_at_done.append(world.leases.find_lease(conversation) is None)
        send(reader, frame)

    world.channel.send = watch  # type: ignore[method-assign]  # a reader that looks at the lease
    world.deliver(accepted)

    assert free_at_done == [True]


@pytest.mark.req("A-LEASE-01")
def test_a_second_turn_is_refused_while_the_first_is_alive_and_accepted_after_it() -> None:
    world = World(script=replay([say("one"), say("two")]))
    conversation = world.open_conversation()
    first = world.submit(conversation)

    with pytest.raises(TurnInProgress) as refused:
        world.submit(conversation)
    assert refused.value.code == "turn_in_progress"

    world.deliver(first)
    second = world.submit(conversation)
    world.deliver(second)
    assert world.types(second.run_id)[-1] == "done"


@pytest.mark.req("A-TURN-01")
def test_a_turn_has_its_conversation_s_lease_before_anything_else_is_done_for_it() -> None:
    world = World()
    accepted = world.submit(world.open_conversation())
    entered = list(world.entry_fate.effects)
    world.deliver(accepted)

    assert entered.index("admissions.admit") < entered.index("queue.enqueue_run")
    assert world.fate.effects[0] == "leases.claim"
    assert world.fate.effects.index("model.stream") > 0


@pytest.mark.req("A-TURN-01")
def test_a_worker_without_the_lease_reads_nothing_says_nothing_and_asks_no_model() -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)
    world.leases.claim(
        conversation,
        accepted.run_id,
        now=world.clock.now(),
        until=world.clock.now() + timedelta(seconds=60),
    )

    assert world.deliver(accepted) == "not_ours"

    assert world.fate.effects == ["leases.claim"]
    assert (world.model.requests, world.types(accepted.run_id)) == ([], [])


@pytest.mark.req("A-LEASE-01", "A-TURN-01")
def test_of_many_turns_at_once_one_is_accepted() -> None:
    world = World()
    conversation = world.open_conversation()
    barrier, outcomes = threading.Barrier(8), list[str]()

    def ask() -> None:
        barrier.wait()
        try:
            world.submit(conversation)
            outcomes.append("accepted")
        except TurnInProgress:
            outcomes.append("refused")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["accepted", *["refused"] * 7]


@pytest.mark.parametrize("stranger", [BEN, EVE])
def test_a_stranger_learns_nothing_of_a_conversation_or_its_runs(stranger: object) -> None:
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation)
    world.deliver(accepted)
    assert stranger in (BEN, EVE)
    scope = BEN if stranger is BEN else EVE

    for attempt in (
        lambda: world.turns.submit(scope, conversation, "Mine?"),
        lambda: world.turns.cancel(scope, accepted.run_id),
        lambda: world.reading.fetch_view(scope, accepted.run_id),
        lambda: world.reading.read_envelopes(scope, accepted.run_id, after=0),
        lambda: world.conversations.fetch_view(scope, conversation),
        lambda: world.conversations.list_artifacts(scope, conversation),
        lambda: world.conversations.record_interaction(
            scope, conversation, kind="copied", run_id=None, details={}
        ),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert world.conversations.show_active(scope, limit=9).conversations == ()


@pytest.mark.req("A-GUARD-03")
@pytest.mark.parametrize(
    ("text", "refusal"), [("", InvalidInput), ("  \n", InvalidInput), ("x" * 120_001, TooLarge)]
)
def test_a_question_that_does_not_fit_is_refused_and_takes_nothing(
    text: str, refusal: type[EquerryError]
) -> None:
    world = World()
    conversation = world.open_conversation()

    with pytest.raises(refusal, match="text must"):
        world.submit(conversation, text)

    assert world.leases.find_lease(conversation) is None


def test_an_unknown_profile_is_refused_when_the_conversation_is_opened() -> None:
    with pytest.raises(UnknownProfile, match="installed are: docs"):
        World().conversations.create(ADA, profile="nonesuch")


def test_a_turn_that_cannot_be_queued_is_refused_and_leaves_the_conversation_free() -> None:
    world = World()
    conversation = world.open_conversation()
    enqueue = world.queue.enqueue_run

    def down(*_: object) -> None:
        raise Unavailable("the queue is down")

    world.queue.enqueue_run = down  # type: ignore[method-assign,assignment]  # an outage
    with pytest.raises(Unavailable):
        world.submit(conversation)
    world.queue.enqueue_run = enqueue  # type: ignore[method-assign]

    assert world.leases.find_lease(conversation) is None
    assert all(run.status == "ended" for run in world.store.runs.values())
    world.deliver(world.submit(conversation))


@pytest.mark.req("A-EVT-12")
def test_a_model_that_fails_ends_the_run_with_an_error_and_then_done() -> None:
    world = World(script=replay([fail(ModelUnavailable("overloaded"), TextDelta("So far"))]))
    accepted = world.submit(world.open_conversation())

    world.deliver(accepted)

    types = world.types(accepted.run_id)
    assert types[-2:] == ["error", "done"]
    error = world.envelopes(accepted.run_id)[-2].payload
    assert error == {"code": "model_unavailable", "message": "overloaded"}
    view = world.reading.fetch_view(ADA, accepted.run_id)
    assert view.run.stop_reason == "error"
    assert view.answer is not None
    assert view.answer.text == "So far"


def test_a_bug_of_ours_ends_the_run_visibly_and_is_raised_again() -> None:
    def broken(*_: object) -> tuple[()]:
        raise RuntimeError("secret detail of a driver")

    world = World(build_tools=broken)
    accepted = world.submit(world.open_conversation())

    with pytest.raises(RuntimeError):
        world.deliver(accepted)

    assert world.types(accepted.run_id)[-2:] == ["error", "done"]
    assert "secret" not in str([envelope.payload for envelope in world.envelopes(accepted.run_id)])
    assert world.leases.find_lease(accepted.conversation_id) is None


@pytest.mark.req("F-RUN-05")
def test_a_stop_from_elsewhere_ends_the_run_and_keeps_what_was_said() -> None:
    world = World()
    accepted = world.submit(world.open_conversation())
    world.turns.cancel(ADA, accepted.run_id)
    world.clock.advance(0)

    def stop_soon(_request: object) -> object:
        deadline = threading.Event()
        deadline.wait(1.2)
        return say("too late")

    world.model._script = stop_soon  # type: ignore[assignment]
    world.deliver(accepted)

    done = world.envelopes(accepted.run_id)[-1]
    assert done.payload["stopReason"] == "cancelled"
    assert not world.interrupts.is_interrupted(accepted.run_id)


def test_cancelling_a_run_that_has_ended_changes_nothing() -> None:
    world = World()
    accepted = world.submit(world.open_conversation())
    world.deliver(accepted)

    run = world.turns.cancel(ADA, accepted.run_id)

    assert run.status == "ended"
    assert not world.interrupts.is_interrupted(accepted.run_id)


class Lookup:
    """A tool that finds one thing."""

    label = "Looking it up"
    effect: ToolEffect = "read"
    spec = ToolSpec(name="look", description="Look", input_schema={"type": "object"})

    def run(self, _arguments: Mapping[str, object]) -> ToolOutcome:
        return ToolOutcome(content="found", summary="1 thing")


@pytest.mark.req("A-EVT-02", "A-EVT-03")
def test_a_tool_call_is_told_as_it_happens_and_audited_without_its_words() -> None:
    world = World(
        script=replay([call("look", query="my salary", limit=3), say("ok")]),
        build_tools=lambda *_: (Lookup(),),
    )
    accepted = world.submit(world.open_conversation())

    world.deliver(accepted)

    told = [e.payload for e in world.envelopes(accepted.run_id) if e.type.startswith("tool")]
    assert told == [
        {"toolCallId": "call-1", "tool": "look", "label": "Looking it up"},
        {"toolCallId": "call-1", "ok": True, "summary": "1 thing"},
    ]
    (action,) = world.store.list_audit(accepted.run_id)
    assert action.arguments == {"query": "text of 9 characters", "limit": 3}


def test_the_next_turn_sees_what_was_said_before() -> None:
    world = World(script=replay([say("First answer."), say("Second answer.")]))
    conversation = world.open_conversation()
    world.deliver(world.submit(conversation, "First question?"))

    world.deliver(world.submit(conversation, "Second question?"))

    said = [message.text for message in world.model.requests[1].thread.messages]
    assert "First question?" in said[0]
    assert said[1] == "First answer."
    assert "Second question?" in said[2]


@pytest.mark.req("F-ARCH-05")
def test_a_caller_without_a_socket_waits_for_the_end() -> None:
    world = World()
    accepted = world.submit(world.open_conversation())
    sleep = world.clock.sleep

    def work_meanwhile(seconds: float) -> None:
        sleep(seconds)
        if world.store.runs[accepted.run_id].status == "queued":
            world.deliver(accepted)

    world.clock.sleep = work_meanwhile  # type: ignore[method-assign]
    view = world.reading.fetch_view(ADA, accepted.run_id, wait_s=25)

    assert view.run.status == "ended"
    assert view.answer is not None


def test_a_wait_that_ends_first_returns_the_run_as_it_is() -> None:
    world = World()
    accepted = world.submit(world.open_conversation())

    view = world.reading.fetch_view(ADA, accepted.run_id, wait_s=999)

    assert view.run.status == "queued"
    assert world.clock.monotonic_s() == pytest.approx(25)


def test_events_hold_what_the_reader_saw() -> None:
    world = World(script=replay([say("[[p00000000|made up]]Plain ", "text.")]))
    accepted = world.submit(world.open_conversation())

    world.deliver(accepted)

    text = "".join(
        str(envelope.payload["delta"])
        for envelope in world.envelopes(accepted.run_id)
        if envelope.type == "token"
    )
    view = world.reading.fetch_view(ADA, accepted.run_id)
    assert view.answer is not None
    assert view.answer.text == text == "Plain text."


def test_a_foreseen_failure_before_the_model_is_told_to_the_reader() -> None:
    def refused(*_: object) -> tuple[()]:
        raise Refused("no tools today")

    world = World(build_tools=refused)
    accepted = world.submit(world.open_conversation())

    world.deliver(accepted)

    assert world.envelopes(accepted.run_id)[-2].payload["message"] == "no tools today"
    assert world.model.requests == []

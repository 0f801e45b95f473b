"""The guard before a turn, and what each end of one gives back."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
from equerry.adapters.fixture.script import Script, ScriptedRound, fail, replay, say
from equerry.domain.admission import AssistantUnavailable
from equerry.domain.leases import Lease
from equerry.domain.limits import TurnLimits
from equerry.domain.rates import RateLimited
from equerry.domain.submissions import KeyReused, SubmissionInProgress
from equerry.engine.model import ModelRequest, TextDelta
from equerry.kernel.errors import EquerryError, InvalidInput, TooLarge, Unavailable
from equerry.kernel.identifiers import ConversationId
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelUnavailable
from equerry.services.admission import ACCEPTING_S, QUEUE_LEASE_S
from equerry.services.turns import Acceptance

from tests.unit.services.world import ADA, BEN, Mortality, ProcessKilled, World

WHOLE = TurnLimits().turn_tokens


def charged(world: World) -> int:
    window = world.admissions.windows.get(ADA.organisation_id)
    return sum(window.hours.values()) if window else 0


def ask(world: World, conversation: ConversationId, key: str = "k-1", text: str = "Well?") -> Acceptance:
    return world.turns.submit(ADA, conversation, text, key=key)


def speaking(usage: Usage) -> Script:
    return replay([say("Hello.", usage=usage)])


def test_a_turn_holds_its_reservation_until_it_ends_and_then_what_it_spent() -> None:
    world = World(script=speaking(Usage(input_tokens=900, output_tokens=100, cached_input_tokens=800)))
    accepted = world.submit(world.open_conversation())
    assert charged(world) == WHOLE

    world.deliver(accepted)

    assert charged(world) == 1_000


def test_an_accepted_turn_says_what_is_left_of_the_rates() -> None:
    world = World()

    standings = world.submit(world.open_conversation()).standings

    assert [(standing.subject, standing.remaining) for standing in standings] == [
        ("user", 19),
        ("organisation", 119),
    ]


def test_a_message_at_the_cap_passes_and_one_character_more_does_not() -> None:
    world = World()
    world.submit(world.open_conversation(), "x" * 120_000)

    with pytest.raises(TooLarge) as refused:
        world.submit(world.open_conversation(), "x" * 120_001)
    assert refused.value.code == "too_large"


@pytest.mark.req("A-GUARD-01", "F-ABUSE-02")
def test_of_several_refusals_the_first_is_told_and_no_model_is_asked() -> None:
    world = World(
        limits=TurnLimits(user_turns_per_minute=1, organisation_turns_per_minute=1, daily_tokens=WHOLE)
    )
    conversation = world.open_conversation()
    world.submit(conversation)
    told: list[str] = []
    for text, limits in (
        ("x" * 120_001, world.limits),
        ("Well?", world.limits),
        ("Well?", replace(world.limits, user_turns_per_minute=9)),
        ("Well?", replace(world.limits, user_turns_per_minute=9, organisation_turns_per_minute=9)),
        ("Well?", TurnLimits()),
    ):
        world.limits = limits
        with pytest.raises(EquerryError) as refused:
            world.submit(conversation, text)
        told.append(refused.value.code)

    assert told == [
        "too_large",
        "rate_limited",
        "rate_limited",
        "assistant_daily_limit",
        "turn_in_progress",
    ]
    assert world.model.requests == []
    assert charged(world) == WHOLE


@pytest.mark.req("A-GUARD-08")
def test_without_the_counters_no_turn_begins() -> None:
    world = World()
    conversation = world.open_conversation()
    world.admissions.out = True

    with pytest.raises(AssistantUnavailable) as refused:
        world.submit(conversation)

    assert refused.value.code == "assistant_unavailable"
    assert world.queue.receive() is None
    world.admissions.out = False
    world.deliver(world.submit(conversation))


@pytest.mark.req("A-GUARD-07", "F-ABUSE-01")
def test_a_person_s_rate_is_their_own_and_their_organisation_s_is_shared() -> None:
    world = World(limits=TurnLimits(user_turns_per_minute=1, organisation_turns_per_minute=2))
    world.submit(world.open_conversation())
    with pytest.raises(RateLimited):
        world.submit(world.open_conversation())
    world.turns.submit(BEN, world.open_conversation(BEN), "Mine?")
    with pytest.raises(RateLimited) as refused:
        world.turns.submit(BEN, world.open_conversation(BEN), "Mine?")
    assert refused.value.standing.subject == "user"
    world.clock.advance(60)

    world.submit(world.open_conversation())


@pytest.mark.req("A-BUDG-05", "A-LOOP-03")
def test_a_turn_on_a_short_budget_sees_less_and_may_say_less() -> None:
    world = World(script=replay([say(f"Answer {number}.") for number in range(9)]))
    conversation = world.open_conversation()
    for number in range(4):
        world.deliver(world.submit(conversation, f"Question {number}?"))
    world.limits = TurnLimits(daily_tokens=charged(world) + 20_000)

    world.deliver(world.submit(conversation, "And now?"))

    request = world.model.requests[-1]
    assert request.max_output_tokens == 1_024
    words = str(request.thread)
    assert "And now?" in words
    assert "Question 3?" in words
    assert "Question 2?" not in words


def test_a_profile_may_lower_a_platform_s_limit_and_not_raise_it() -> None:
    world = World(limits=TurnLimits(round_tokens=100))

    world.deliver(world.submit(world.open_conversation()))

    assert world.model.requests[-1].max_output_tokens == 100


def test_a_turn_that_could_not_be_queued_costs_nothing() -> None:
    world = World()
    conversation = world.open_conversation()
    with no_queue(world), pytest.raises(Unavailable):
        world.submit(conversation)

    assert charged(world) == 0


@pytest.mark.parametrize("spoken", ["", "Half a sen"])
def test_a_round_that_broke_off_is_charged_by_an_estimate(spoken: str) -> None:
    steps = [TextDelta(spoken)] if spoken else []
    world = World(script=replay([fail(ModelUnavailable("gone"), *steps)]))
    accepted = world.submit(world.open_conversation(), "x" * 3_000)

    world.deliver(accepted)

    assert world.store.runs[accepted.run_id].stop_reason == "error"
    assert world.store.runs[accepted.run_id].usage.tokens == 0
    assert 1_000 < charged(world) < 2_000


def test_a_stopped_run_is_charged_by_an_estimate() -> None:
    world = World()
    accepted = world.submit(world.open_conversation(), "x" * 3_000)

    def stop(request: ModelRequest) -> ScriptedRound:
        world.turns.cancel(ADA, accepted.run_id)
        told = threading.Event()
        with request.cancellation.interrupting(told.set):
            told.wait(30)
        return say("Never", " heard.")

    world.model._script = stop
    world.deliver(accepted)

    assert world.store.runs[accepted.run_id].stop_reason == "cancelled"
    assert 1_000 < charged(world) < 2_000


def test_a_question_sent_again_under_its_key_is_the_same_turn() -> None:
    world = World()
    conversation = world.open_conversation()

    first, second = ask(world, conversation), ask(world, conversation)
    world.deliver(first)
    third = ask(world, conversation)

    assert replace(first, standings=()) == replace(second, standings=()) == third
    assert charged(world) == 0
    assert [m.text for m in world.store.messages[conversation] if m.role == "user"] == ["Well?"]


def test_a_repeat_costs_no_turn_of_the_rate() -> None:
    world = World(limits=TurnLimits(user_turns_per_minute=1))
    conversation = world.open_conversation()

    first = ask(world, conversation)

    assert [ask(world, conversation).run_id for _ in range(3)] == [first.run_id] * 3


def test_another_question_under_the_same_key_is_refused() -> None:
    world = World()
    conversation = world.open_conversation()
    ask(world, conversation)

    with pytest.raises(KeyReused) as refused:
        ask(world, conversation, text="Something else?")
    assert refused.value.code == "idempotency_key_reused"


def test_a_key_means_something_to_its_person_and_in_its_conversation_alone() -> None:
    world = World()

    runs = {ask(world, world.open_conversation()).run_id for _ in range(2)}
    runs.add(world.turns.submit(BEN, world.open_conversation(BEN), "Well?", key="k-1").run_id)

    assert len(runs) == 3


def test_a_key_is_free_again_after_a_day() -> None:
    world = World()
    conversation = world.open_conversation()
    first = ask(world, conversation)
    world.deliver(first)
    world.clock.advance(24 * 3_600)

    assert ask(world, conversation, text="Something else?").run_id != first.run_id


@pytest.mark.parametrize("key", ["", "   ", "k" * 256, "ключ", "a\nb", "a b", "a\tb", "a\x7fb"])
def test_a_key_that_is_malformed_is_refused_before_anything_is_counted(key: str) -> None:
    world = World()

    with pytest.raises(InvalidInput, match="Idempotency-Key"):
        ask(world, world.open_conversation(), key)
    assert charged(world) == 0


@contextmanager
def no_queue(world: World) -> Iterator[None]:
    """Let the queue refuse what it is given."""
    enqueue = world.queue.enqueue_run

    def refuse(*_: object) -> None:
        raise Unavailable("the queue is down")

    world.queue.enqueue_run = refuse  # type: ignore[method-assign,assignment]  # an outage
    yield
    world.queue.enqueue_run = enqueue  # type: ignore[method-assign]


def test_a_question_that_could_not_be_queued_is_a_new_turn_when_it_is_sent_again() -> None:
    world = World()
    conversation = world.open_conversation()
    with no_queue(world), pytest.raises(Unavailable):
        ask(world, conversation)

    again = ask(world, conversation)

    assert world.deliver(again) == "answered"
    assert world.types(again.run_id)[-1] == "done"


def test_a_key_whose_turn_ends_while_it_is_looked_for_is_that_turn() -> None:
    world = World()
    conversation = world.open_conversation()
    first = ask(world, conversation)
    run = world.store.runs.pop(first.run_id)  # as if it were not written yet
    find_lease = world.leases.find_lease

    def end_meanwhile(asked: ConversationId) -> Lease | None:
        world.leases.find_lease = find_lease  # type: ignore[method-assign]
        world.store.runs[first.run_id] = run
        world.deliver(first)
        return find_lease(asked)

    world.leases.find_lease = end_meanwhile  # type: ignore[method-assign,assignment]

    assert ask(world, conversation).run_id == first.run_id


ENTRY_EFFECTS = 3
"""Of an accepted turn: read what it is judged by and write it, admit it in between, queue it."""


def test_the_steps_that_are_killed_are_all_there_are() -> None:
    world = World()
    ask(world, world.open_conversation())

    assert len(world.entry_fate.effects) == ENTRY_EFFECTS


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("kill_at", range(1, ENTRY_EFFECTS + 1))
def test_a_caller_whose_entry_point_died_asks_again_and_has_one_turn(kill_at: int, after: bool) -> None:
    world = World(script=speaking(Usage(input_tokens=70, output_tokens=7)))
    conversation = world.open_conversation()
    world.entry_fate = Mortality(kill_at=kill_at, after=after)
    with pytest.raises(ProcessKilled):
        ask(world, conversation)

    world.entry_fate = Mortality()
    with suppress(SubmissionInProgress):  # the dead entry point might only be slow
        ask(world, conversation)
    world.clock.advance(ACCEPTING_S)
    again = ask(world, conversation)
    while delivery := world.queue.receive():
        world.worker.execute(delivery.run_id, delivery.conversation_id)
        world.queue.delete(delivery.receipt)

    assert world.types(again.run_id)[-1] == "done"
    assert [m.text for m in world.store.messages[conversation]] == ["Well?", "Hello."]
    assert charged(world) == 77


@pytest.mark.req("A-BUDG-08")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("kill_at", range(1, ENTRY_EFFECTS + 1))
def test_what_a_dead_entry_point_reserved_comes_back_though_nobody_asks_again(
    kill_at: int, after: bool
) -> None:
    world = World()
    conversation = world.open_conversation()
    world.entry_fate = Mortality(kill_at=kill_at, after=after)
    with pytest.raises(ProcessKilled):
        ask(world, conversation)

    world.clock.advance(QUEUE_LEASE_S)
    world.recovery.settle_lapsed()

    assert charged(world) == 0
    assert world.leases.find_lease(conversation) is None

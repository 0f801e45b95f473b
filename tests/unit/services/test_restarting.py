"""A round that begins anew, as readers see it and as the run is kept."""

from collections.abc import Iterable
from decimal import Decimal
from typing import cast

import pytest
from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import ScriptedRound, call, fail, replay, say
from equerry.channel.envelope import Envelope
from equerry.domain.records import UsageRecord
from equerry.engine.model import ModelChoice, Restarted, RoundEnd, TextDelta
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import RunId
from equerry.kernel.usage import Usage
from equerry.services.pulse import ALIVE_S

from tests.unit.services.house import GONE, MAIN, SPARE, House
from tests.unit.services.world import ADA, Mortality, ProcessKilled, World

HAIKU = ModelChoice(provider="anthropic", model="claude-haiku-4-5")
NOBODYS = ModelChoice(provider="anthropic", model="unlisted")
ANEW = Restarted(model=HAIKU, reason="model_timeout")


def end(model: ModelChoice | None = HAIKU, **usage: int) -> RoundEnd:
    return RoundEnd(stop="end_turn", usage=Usage(**usage), model=model)


def read(envelopes: Iterable[Envelope]) -> str:
    """Return the text as a reader has it."""
    text = ""
    for envelope in envelopes:
        if envelope.type == "restart":
            text = str(envelope.payload["text"])
        elif envelope.type == "token":
            text += str(envelope.payload["delta"])
    return text


def answer(*rounds: ScriptedRound) -> tuple[World, RunId]:
    world = World(script=replay(rounds))
    accepted = world.submit(world.open_conversation())
    assert world.deliver(accepted) == "answered"
    return world, accepted.run_id


def find_usage(world: World, run_id: RunId) -> UsageRecord:
    usage = world.explaining.fetch_record(ADA, run_id).usage
    assert usage is not None
    return usage


@pytest.mark.req("F-GATE-05")
def test_a_reader_is_told_what_stands_and_ends_up_with_what_is_kept() -> None:
    world, run_id = answer(
        ScriptedRound((TextDelta("It is "), TextDelta("fo"), ANEW, TextDelta("Five"), TextDelta("."), end()))
    )

    kept = world.reading.fetch_view(ADA, run_id).answer
    assert kept is not None
    assert (read(world.envelopes(run_id)), kept.text) == ("Five.", "Five.")
    assert world.types(run_id).count("restart") == 1


def test_text_that_waited_for_its_interval_is_never_sent_once_it_is_void() -> None:
    world, run_id = answer(ScriptedRound((TextDelta("a"), TextDelta("VOID"), ANEW, TextDelta("b"), end())))

    assert "VOID" not in str([envelope.payload for envelope in world.envelopes(run_id)])


def test_what_earlier_rounds_said_stands() -> None:
    looking = ScriptedRound((TextDelta("Let me look."), *call("absent").steps))
    world, run_id = answer(looking, ScriptedRound((TextDelta("Fo"), ANEW, TextDelta("Five."), end())))

    assert read(world.envelopes(run_id)) == "Let me look.\n\nFive."
    (restart,) = (e for e in world.envelopes(run_id) if e.type == "restart")
    assert restart.payload == {"text": "Let me look."}


def test_everyone_who_listens_gets_the_same_and_so_does_who_comes_later() -> None:
    world = World(script=replay([ScriptedRound((TextDelta("One"), ANEW, TextDelta("Two"), end()))]))
    conversation = world.open_conversation()
    sockets = [world.connect(name) for name in ("a", "b")]
    for socket in sockets:
        world.sockets.subscribe(socket, conversation, run_id=None, after=0)
    accepted = world.submit(conversation)
    world.deliver(accepted)

    logged = [envelope.to_wire() for envelope in world.envelopes(accepted.run_id)]
    for socket in sockets:
        assert [frame for frame in world.frames(socket) if frame["seq"] > 0] == logged


@pytest.mark.req("F-ROUTE-05")
def test_the_record_names_who_was_wanted_who_ran_and_what_was_thrown_away() -> None:
    world, run_id = answer(ScriptedRound((TextDelta("One"), ANEW, TextDelta("Two"), end())))

    record = world.explaining.fetch_record(ADA, run_id)
    (played,) = cast("list[dict[str, object]]", record.outcome["rounds"])
    assert record.outcome["wanted"] == {"provider": "fixture", "model": "script-1"}
    assert (played["provider"], played["model"]) == ("anthropic", "claude-haiku-4-5")
    assert played["restarts"] == [
        {
            "reason": "model_timeout",
            "discardedCharacters": 3,
            "provider": "anthropic",
            "model": "claude-haiku-4-5",
        }
    ]
    assert world.reading.fetch_view(ADA, run_id).run.model == HAIKU
    assert not find_usage(world, run_id).complete


@pytest.mark.req("F-ROUTE-05")
def test_each_round_is_priced_by_the_model_that_played_it() -> None:
    free = ScriptedRound(
        (*call("absent").steps[:-1], RoundEnd(stop="tool_use", usage=Usage(input_tokens=70)))
    )
    world, run_id = answer(free, ScriptedRound((TextDelta("x"), end(input_tokens=1_000_000))))

    assert find_usage(world, run_id).cost_usd == Decimal(1)


def test_a_run_of_which_one_round_has_no_price_has_none() -> None:
    world, run_id = answer(ScriptedRound((TextDelta("x"), end(NOBODYS, input_tokens=5))))

    assert find_usage(world, run_id).cost_usd is None


@pytest.mark.req("F-GATE-05")
def test_a_round_that_tells_no_usage_is_estimated_and_its_run_costs_nobody_knows_what() -> None:
    untold = RoundEnd(stop="end_turn", usage=Usage(), model=HAIKU, metered=False)
    world, run_id = answer(ScriptedRound((TextDelta("Five."), untold)))

    usage = find_usage(world, run_id)
    assert (usage.cost_usd, usage.complete) == (None, False)
    assert world.reading.fetch_view(ADA, run_id).run.stop_reason == "end_turn"


def test_the_line_of_a_run_names_who_was_wanted_and_who_answered(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        answer(ScriptedRound((TextDelta("x"), end())))

    (line,) = (record.__dict__ for record in caplog.records if record.message == "run_ended")
    assert line["gen_ai.request.model"] == "script-1"
    assert line["gen_ai.response.model"] == "claude-haiku-4-5"
    assert line["gen_ai.provider.name"] == "anthropic"


def test_a_model_that_begins_anew_and_fails_leaves_no_half_of_the_first() -> None:
    world, run_id = answer(fail(Unavailable("gone"), TextDelta("One"), ANEW))

    view = world.reading.fetch_view(ADA, run_id)
    assert view.answer is None
    assert view.run.stop_reason == "error"
    assert read(world.envelopes(run_id)) == ""


def test_who_ends_a_dead_workers_run_keeps_only_what_stood() -> None:
    begun_anew = ScriptedRound((TextDelta("One"), ANEW, TextDelta("Two"), TextDelta("three"), end()))
    for kill_at in range(1, 200):
        world = World(script=replay([begun_anew]), fate=Mortality(kill_at=kill_at, after=True))
        accepted = world.submit(world.open_conversation())
        try:
            world.deliver(accepted)
        except ProcessKilled:
            world.fate = Mortality()
            world.clock.advance(ALIVE_S + 1)
            world.recovery.settle_lapsed()
        else:
            break
        view = world.reading.fetch_view(ADA, accepted.run_id)
        shown = read(world.envelopes(accepted.run_id))
        assert (view.answer.text if view.answer else "") == shown
    assert kill_at > 10


@pytest.mark.req("F-GATE-05")
def test_a_turn_lets_another_model_take_over_in_mid_answer() -> None:
    house = House({MAIN: [fail(GONE, TextDelta("It is fo"))], SPARE: [say("Five.")]})
    world = World()
    world.model = cast("FixtureModelAdapter", house.gateway.open("conversational"))
    accepted = world.submit(world.open_conversation())

    world.deliver(accepted)

    view = world.reading.fetch_view(ADA, accepted.run_id)
    assert view.answer is not None
    assert view.answer.text == read(world.envelopes(accepted.run_id)) == "Five."
    assert view.run.model == SPARE

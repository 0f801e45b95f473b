"""The gateway: who is asked, who stands in, what the reader is told, and when nobody is asked."""

import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import Pause, ScriptedRound, fail, say
from equerry.domain.breaker import Cooling
from equerry.domain.retirements import Retirements
from equerry.domain.routing import Purpose, Route
from equerry.domain.switches import ModelSwitchedOff
from equerry.engine.cancellation import Cancellation
from equerry.engine.model import (
    ModelChoice,
    ModelEvent,
    ModelRequest,
    Prompt,
    Restarted,
    RoundEnd,
    StillWorking,
    TextDelta,
)
from equerry.engine.thread import Thread
from equerry.kernel.errors import EquerryError
from equerry.ports.model import (
    ModelCancelled,
    ModelGone,
    ModelPort,
    ModelRejected,
    ModelUnavailable,
    ModelUnusable,
)
from equerry.services.gateway import ConcurrencyLimit, GatewayService, ModelBusy
from equerry.services.model_watch import TOLD_EVERY_S, ModelWatchService
from equerry.services.provider_health import REFRESH_S, ProviderHealthService

from tests.contract.models.clock import ScriptedClock
from tests.fakes.metrics import MemoryMetricAdapter
from tests.fakes.provider_health import MemoryProviderHealthAdapter

MAIN = ModelChoice(provider="anthropic", model="claude-1")
SPARE = ModelChoice(provider="bedrock", model="nova-1")
DOWN = ModelUnavailable("down", cause="overloaded", attempts=2)
GONE = ModelUnavailable("gone", cause="connection")
ANSWER = say("Widgets ", "are painted.")


@dataclass
class House:
    """A gateway over scripted models; `rounds` is what each plays, in order, the last one for ever."""

    rounds: dict[ModelChoice, list[ScriptedRound]]
    arms: tuple[ModelChoice, ...] = (MAIN, SPARE)
    clock: ScriptedClock = field(default_factory=ScriptedClock)
    store: MemoryProviderHealthAdapter = field(default_factory=MemoryProviderHealthAdapter)
    limit: ConcurrencyLimit = field(default_factory=lambda: ConcurrencyLimit(4, wait_s=0))
    routed: list[Purpose] = field(default_factory=list)
    models: dict[ModelChoice, FixtureModelAdapter] = field(default_factory=dict)
    metrics: MemoryMetricAdapter = field(default_factory=MemoryMetricAdapter)
    retirements: Retirements = field(default_factory=lambda: Retirements({}))

    def __post_init__(self) -> None:
        self.health = self.new_process()
        self.gateway = GatewayService(
            find_route=self._route,
            open_model=self.open_model,
            find_limit=lambda _: self.limit,
            health=self.health,
            watch=ModelWatchService(clock=self.clock, retirements=self.retirements, metrics=self.metrics),
            clock=self.clock,
        )

    def new_process(self) -> ProviderHealthService:
        return ProviderHealthService(store=self.store, clock=self.clock, start=lambda act: act())

    def open_model(self, choice: ModelChoice) -> ModelPort:
        if choice not in self.models:
            left = self.rounds[choice]
            self.models[choice] = FixtureModelAdapter(
                self.clock, script=lambda _: left.pop(0) if len(left) > 1 else left[0], choice=choice
            )
        return self.models[choice]

    def play(self, **changes: object) -> list[ModelEvent]:
        stream = self.gateway.open("conversational").stream(ask(**changes))
        return [event for event in stream if not isinstance(event, StillWorking)]

    def count(self, choice: ModelChoice) -> int:
        return len(self.models[choice].requests) if choice in self.models else 0

    def _route(self, purpose: Purpose) -> Route:
        self.routed.append(purpose)
        return Route(arms=self.arms)


def ask(**changes: object) -> ModelRequest:
    given: dict[str, object] = {
        "prompt": Prompt(stable="x"),
        "thread": Thread().say("How?"),
        "deadline_s": 60.0,
    }
    return ModelRequest(**{**given, **changes})  # type: ignore[arg-type]  # a test's brevity


def end_of(events: list[ModelEvent]) -> RoundEnd:
    last = events[-1]
    assert isinstance(last, RoundEnd)
    return last


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def test_the_model_that_is_wanted_answers_and_need_not_be_named() -> None:
    house = House({MAIN: [ANSWER], SPARE: [ANSWER]})

    events = house.play()

    assert text_of(events) == "Widgets are painted."
    assert end_of(events).model is None
    assert house.count(SPARE) == 0


@pytest.mark.parametrize("failure", [DOWN, ModelUnusable("no such key"), ModelSwitchedOff()])
@pytest.mark.req("F-DEGR-02")
def test_another_stands_in_and_the_round_names_it(failure: EquerryError) -> None:
    house = House({MAIN: [fail(failure)], SPARE: [ANSWER]})

    events = house.play()

    assert text_of(events) == "Widgets are painted."
    assert end_of(events).model == SPARE
    assert not [event for event in events if isinstance(event, Restarted)]


def test_a_fallback_is_logged_with_what_was_wanted_and_why(caplog: pytest.LogCaptureFixture) -> None:
    house = House({MAIN: [fail(DOWN)], SPARE: [ANSWER]})

    with caplog.at_level(logging.WARNING):
        house.play()

    (told,) = [record for record in caplog.records if record.message == "model_fallback"]
    assert vars(told) | {
        "wanted": "anthropic/claude-1",
        "provider": "bedrock",
        "cause": "overloaded",
    } == vars(told)


def test_a_request_that_is_wrong_is_wrong_everywhere() -> None:
    house = House({MAIN: [fail(ModelRejected("no"))], SPARE: [ANSWER]})

    with pytest.raises(ModelRejected):
        house.play()

    assert house.count(SPARE) == 0


@pytest.mark.req("F-GATE-04")
def test_a_bug_is_not_taken_for_a_failing_model() -> None:
    house = House({SPARE: [ANSWER]})

    with pytest.raises(KeyError):
        house.play()


def test_attempts_are_shared_and_four_in_all() -> None:
    house = House({MAIN: [fail(DOWN)], SPARE: [fail(DOWN)]})

    with pytest.raises(ModelUnavailable):
        house.play()

    assert [house.models[arm].requests[0].attempts for arm in (MAIN, SPARE)] == [2, 2]


def test_a_model_that_stands_alone_has_all_attempts() -> None:
    house = House({MAIN: [ANSWER]}, arms=(MAIN,))

    house.play()

    assert house.models[MAIN].requests[0].attempts == 4


def test_who_stands_in_has_the_time_that_is_left() -> None:
    house = House({MAIN: [fail(DOWN, Pause(20))], SPARE: [ANSWER]})

    house.play(deadline_s=60.0)

    assert house.models[SPARE].requests[0].deadline_s == 40


def test_nobody_stands_in_when_the_time_is_up() -> None:
    house = House({MAIN: [fail(DOWN, Pause(57))], SPARE: [ANSWER]})

    with pytest.raises(ModelUnavailable):
        house.play(deadline_s=60.0)

    assert house.count(SPARE) == 0


def test_half_an_answer_is_never_followed_by_another_unannounced() -> None:
    house = House({MAIN: [fail(GONE, TextDelta("Half"))], SPARE: [ANSWER]})

    with pytest.raises(ModelUnavailable):
        house.play()

    assert house.count(SPARE) == 0


def test_a_reader_who_can_discard_is_told_to_before_another_begins() -> None:
    house = House({MAIN: [fail(GONE, TextDelta("Half"))], SPARE: [ANSWER]})

    events = house.play(may_restart=True)

    assert events[:2] == [TextDelta("Half"), Restarted(model=SPARE, reason="model_unavailable")]
    assert text_of(events[2:]) == "Widgets are painted."


def test_a_model_that_stands_alone_begins_anew_once() -> None:
    house = House({MAIN: [fail(GONE, TextDelta("Half"))]}, arms=(MAIN,))

    with pytest.raises(ModelUnavailable):
        house.play(may_restart=True)

    assert house.count(MAIN) == 2


@pytest.mark.req("F-LAT-04", "F-DEGR-02")
def test_a_model_that_keeps_failing_is_left_alone() -> None:
    house = House({MAIN: [fail(DOWN)], SPARE: [ANSWER]})

    for _ in range(4):
        house.play()

    assert house.count(MAIN) == 2
    assert house.count(SPARE) == 4


@pytest.mark.req("F-LAT-04")
def test_where_all_are_left_alone_nobody_is_asked_and_the_wait_is_told() -> None:
    house = House({MAIN: [fail(DOWN)]}, arms=(MAIN,))
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            house.play()

    with pytest.raises(ModelUnavailable, match="left alone") as caught:
        house.play()

    assert house.count(MAIN) == 2
    assert 0 < caught.value.retry_after_s <= 15
    assert house.gateway.is_cooled("conversational")


@pytest.mark.req("F-LAT-04")
def test_one_process_tries_a_model_whose_spell_is_over_and_its_recovery_is_noticed_by_all() -> None:
    house = House({MAIN: [fail(DOWN), fail(DOWN), ANSWER], SPARE: [ANSWER]})
    house.play()
    house.play()
    house.clock.sleep(16)
    other = house.new_process()
    other.look()

    events = house.play()

    assert end_of(events).model is None
    assert house.models[MAIN].requests[-1].attempts == 1
    assert house.store.cooled == {}
    house.clock.sleep(REFRESH_S)
    other.look()
    assert other.judge(MAIN) == "well"


@pytest.mark.req("F-LAT-04")
def test_a_model_that_fails_again_is_left_alone_for_longer() -> None:
    house = House({MAIN: [fail(DOWN)], SPARE: [ANSWER]})
    house.play()
    house.play()
    house.clock.sleep(16)

    house.play()

    (cooling,) = house.store.cooled.values()
    assert cooling.times == 2
    assert cooling.until - house.clock.now() == timedelta(seconds=30)


def test_an_outage_of_a_whole_day_is_still_stood_in_for() -> None:
    house = House({MAIN: [fail(DOWN)], SPARE: [ANSWER]})
    house.play()

    for _ in range(60):
        assert end_of(house.play()).model == SPARE
        house.clock.sleep(121)

    (cooling,) = house.store.cooled.values()
    assert cooling.times == 60
    assert end_of(house.play()).model == SPARE


def test_rounds_that_fail_side_by_side_are_one_reason_to_leave_a_model_alone() -> None:
    house = House({MAIN: [fail(DOWN, StillWorking())], SPARE: [ANSWER]})
    streams = [house.gateway.open("conversational").stream(ask()) for _ in range(4)]
    for stream in streams:
        next(stream)

    for stream in streams:
        assert end_of(list(stream)).model == SPARE

    (cooling,) = house.store.cooled.values()
    assert cooling.times == 1
    assert cooling.until - house.clock.now() == timedelta(seconds=15)


def test_what_another_process_has_seen_is_heeded() -> None:
    house = House({MAIN: [ANSWER], SPARE: [ANSWER]})
    until = house.clock.now() + timedelta(seconds=15)
    house.store.cool(Cooling(choice=MAIN, until=until, times=1, cause="throttled"))

    events = house.play()

    assert end_of(events).model == SPARE
    assert house.count(MAIN) == 0


def test_a_throttling_provider_s_wish_is_kept_by_all() -> None:
    throttled = ModelUnavailable("slow down", cause="throttled", retry_after_s=60, attempts=3)
    house = House({MAIN: [fail(throttled)], SPARE: [ANSWER]})

    house.play()

    assert house.store.cooled[MAIN].until - house.clock.now() == timedelta(seconds=60)


def test_a_key_that_is_refused_is_not_tried_again_at_once_and_is_told_for_what_it_is() -> None:
    house = House({MAIN: [fail(ModelUnusable("bad key"))]}, arms=(MAIN,))

    for _ in range(3):
        with pytest.raises(ModelUnusable):
            house.play()

    assert house.count(MAIN) == 1


def test_a_healthy_turn_does_not_wait_for_the_store_of_health() -> None:
    begun: list[object] = []
    house = House({MAIN: [ANSWER]})
    waiting = ProviderHealthService(store=house.store, clock=house.clock, start=begun.append)
    gateway = GatewayService(
        find_route=lambda _: Route(arms=(MAIN,)),
        open_model=house.open_model,
        find_limit=lambda _: house.limit,
        health=waiting,
        watch=ModelWatchService(clock=house.clock),
        clock=house.clock,
    )

    for _ in range(3):
        list(gateway.open("conversational").stream(ask()))

    assert house.store.asked == 0
    assert len(begun) == 1


@pytest.mark.req("F-DEGR-02")
def test_without_the_store_a_process_goes_by_what_it_sees() -> None:
    house = House({MAIN: [fail(DOWN)], SPARE: [ANSWER]})
    house.store.down = True

    for _ in range(4):
        assert text_of(house.play()) == "Widgets are painted."

    assert house.count(MAIN) == 2


@pytest.mark.req("F-LAT-03")
def test_rounds_at_one_provider_are_bounded_and_who_comes_too_late_is_told() -> None:
    house = House({MAIN: [ANSWER]}, arms=(MAIN,), limit=ConcurrencyLimit(1, wait_s=0.01))
    first = house.gateway.open("conversational").stream(ask())
    next(first)

    with pytest.raises(ModelBusy) as caught:
        house.play()
    first.close()

    assert caught.value.code == "model_busy"
    assert text_of(house.play()) == "Widgets are painted."


@pytest.mark.req("F-LAT-03")
def test_who_waits_for_a_place_gets_it_when_it_is_free() -> None:
    house = House({MAIN: [ANSWER]}, arms=(MAIN,), limit=ConcurrencyLimit(1, wait_s=20))
    first = house.gateway.open("conversational").stream(ask())
    next(first)
    threading.Timer(0.05, lambda: [*first]).start()

    assert text_of(house.play()) == "Widgets are painted."


def test_a_cancelled_round_waits_for_no_place() -> None:
    house = House({MAIN: [ANSWER]}, arms=(MAIN,), limit=ConcurrencyLimit(1, wait_s=60))
    first = house.gateway.open("conversational").stream(ask())
    next(first)
    cancellation = Cancellation()
    threading.Timer(0.05, cancellation.cancel).start()

    with pytest.raises(ModelCancelled):
        house.play(cancellation=cancellation)
    first.close()

    assert house.count(MAIN) == 1
    assert text_of(house.play()) == "Widgets are painted."


@pytest.mark.req("F-ROUTE-02")
def test_the_class_is_the_caller_s() -> None:
    house = House({MAIN: [ANSWER]})

    list(house.gateway.open("judging").stream(ask()))

    assert set(house.routed) == {"judging"}


def test_closing_a_round_closes_the_model_s() -> None:
    house = House({MAIN: [ANSWER]})
    stream: Iterator[ModelEvent] = house.gateway.open("conversational").stream(ask())
    next(stream)

    stream.close()  # type: ignore[attr-defined]  # a generator

    assert house.models[MAIN].abandoned == 1


@pytest.mark.req("F-DEGR-03")
def test_who_would_stand_in_is_known_before_a_turn_as_long_as_the_wanted_one_is_left_alone() -> None:
    house = House({MAIN: [fail(DOWN)], SPARE: [ANSWER]})
    before = house.gateway.find_stand_in("conversational")
    for _ in range(3):
        house.play()
    during = house.gateway.find_stand_in("conversational")
    house.clock.sleep(16)

    assert (before, during) == (None, SPARE)
    assert house.gateway.find_stand_in("conversational") is None


def test_nobody_stands_in_where_all_are_left_alone() -> None:
    house = House({MAIN: [fail(DOWN)]}, arms=(MAIN,))
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            house.play()

    assert house.gateway.find_stand_in("conversational") is None


@pytest.mark.req("F-ROUTE-06")
def test_a_model_that_is_gone_is_stood_in_for_and_told_to_operators(caplog: pytest.LogCaptureFixture) -> None:
    house = House({MAIN: [fail(ModelGone("no such model"))], SPARE: [ANSWER]})

    events = house.play()

    assert end_of(events).model == SPARE
    assert house.metrics.list_amounts("ModelGone") == [1]
    (line,) = (record for record in caplog.records if record.message == "model_gone")
    assert (line.levelno, line.__dict__["model"]) == (logging.ERROR, MAIN.model)


@pytest.mark.req("F-ROUTE-06")
def test_a_model_whose_end_is_near_answers_and_is_told_of_once_an_hour(
    caplog: pytest.LogCaptureFixture,
) -> None:
    house = House({MAIN: [ANSWER], SPARE: [ANSWER]})
    soon = house.clock.now().date() + timedelta(days=9)
    house.retirements.days[SPARE.provider, SPARE.model] = soon  # type: ignore[index]  # a test's dictionary

    for _ in range(3):
        assert end_of(house.play()).model is None
    house.clock.sleep(TOLD_EVERY_S)
    house.play()

    assert house.metrics.list_amounts("ModelRetiring") == [1, 1]
    told = [record.__dict__ for record in caplog.records if record.message == "model_retiring"]
    assert [(line["model"], line["days_left"]) for line in told] == [(SPARE.model, 9), (SPARE.model, 9)]

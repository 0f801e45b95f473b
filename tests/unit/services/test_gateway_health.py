"""Which models a gateway leaves alone, for how long, and how processes tell each other."""

from datetime import timedelta

import pytest
from equerry.adapters.fixture.script import fail
from equerry.domain.breaker import Cooling
from equerry.domain.routing import Route
from equerry.engine.model import (
    StillWorking,
)
from equerry.ports.model import (
    ModelUnavailable,
    ModelUnusable,
)
from equerry.services.gateway import GatewayService
from equerry.services.model_watch import ModelWatchService
from equerry.services.provider_health import REFRESH_S, ProviderHealthService

from tests.unit.services.house import ANSWER, DOWN, MAIN, SPARE, House, ask, end_of, text_of


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

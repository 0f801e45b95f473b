"""The gateway: who is asked, who stands in, what the reader is told, and when nobody is asked."""

import logging
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from equerry.adapters.fixture.script import Pause, fail
from equerry.domain.switches import ModelSwitchedOff
from equerry.engine.cancellation import Cancellation
from equerry.engine.model import (
    ModelEvent,
    Restarted,
    TextDelta,
)
from equerry.kernel.errors import EquerryError
from equerry.ports.model import (
    ModelCancelled,
    ModelGone,
    ModelRejected,
    ModelUnavailable,
    ModelUnusable,
)
from equerry.services.gateway import ConcurrencyLimit, ModelBusy
from equerry.services.model_watch import TOLD_EVERY_S

from tests.unit.services.house import ANSWER, DOWN, GONE, MAIN, SPARE, House, ask, end_of, text_of


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

"""The rolling budget: what may be reserved, and that no day ever holds more than its tokens."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from equerry.domain.budget import DailyLimitReached, Reservation, SpendWindow, derive_hour
from equerry.domain.limits import TurnLimits
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.clock import NOON

LIMITS = TurnLimits()
HOUR = timedelta(hours=1)
NOW_HOUR = derive_hour(NOON)
DAY = timedelta(hours=24)


def spent(tokens: int, *, hours_ago: int = 0) -> SpendWindow:
    return SpendWindow({NOW_HOUR - hours_ago: tokens})


@pytest.mark.req("A-BUDG-01")
def test_a_turn_reserves_150_000_tokens_of_input_and_8_000_of_output() -> None:
    assert SpendWindow().reserve(LIMITS, NOON) == Reservation(
        hour=NOW_HOUR, input_tokens=150_000, output_tokens=8_000, full=True
    )


@pytest.mark.req("A-GUARD-06")
def test_a_budget_of_two_million_holds_twelve_full_turns_and_a_smaller_one() -> None:
    window, reserved = SpendWindow(), list[Reservation]()
    for _ in range(13):
        reserved.append(window.reserve(LIMITS, NOON))
        window = window.charge(reserved[-1].hour, reserved[-1].tokens)

    assert [reservation.full for reservation in reserved] == [True] * 12 + [False]
    assert window.spent(NOON) == 2_000_000
    with pytest.raises(DailyLimitReached) as refused:
        window.reserve(LIMITS, NOON)
    assert (refused.value.code, refused.value.left) == ("assistant_daily_limit", 0)


def test_a_turn_that_fits_exactly_is_whole_and_one_token_less_makes_it_smaller() -> None:
    assert spent(2_000_000 - 158_000).reserve(LIMITS, NOON).full
    assert not spent(2_000_000 - 157_999).reserve(LIMITS, NOON).full


@pytest.mark.req("A-BUDG-04")
def test_exactly_the_floor_is_enough_and_one_token_less_is_not() -> None:
    assert spent(2_000_000 - 8_000).reserve(LIMITS, NOON).tokens == 8_000
    with pytest.raises(DailyLimitReached):
        spent(2_000_000 - 7_999).reserve(LIMITS, NOON)


@pytest.mark.req("A-BUDG-05")
@given(left=st.integers(min_value=8_000, max_value=157_999))
def test_between_floor_and_whole_the_turn_takes_what_is_left_and_answers_shorter(left: int) -> None:
    reservation = spent(2_000_000 - left).reserve(LIMITS, NOON)

    assert not reservation.full
    assert reservation.tokens == left
    assert 1_024 <= reservation.output_tokens < 8_000
    assert 0 < reservation.input_tokens <= 150_000


def test_an_hour_counts_until_the_whole_of_it_is_a_day_ago() -> None:
    window = spent(1_000, hours_ago=24)

    assert window.spent(NOON) == 1_000
    assert window.spent(NOON + HOUR - timedelta(microseconds=1)) == 1_000
    assert window.spent(NOON + HOUR) == 0


def test_what_a_faster_clock_charged_to_a_later_hour_counts() -> None:
    assert spent(1_000, hours_ago=-1).spent(NOON) == 1_000


@pytest.mark.req("F-ABUSE-05")
def test_a_refusal_says_when_enough_has_left_the_window() -> None:
    window = SpendWindow({NOW_HOUR - 20: 4_000, NOW_HOUR - 10: 1_000_000, NOW_HOUR: 996_000})

    with pytest.raises(DailyLimitReached) as refused:
        window.reserve(LIMITS, NOON)

    wait = timedelta(seconds=refused.value.retry_after_s)
    assert wait == 15 * HOUR  # the 4,000 of 16:00 yesterday are less than a floor
    assert window.reserve(LIMITS, NOON + wait).tokens >= LIMITS.floor_tokens
    with pytest.raises(DailyLimitReached):
        window.reserve(LIMITS, NOON + wait - timedelta(seconds=1))
    assert "900 minutes" in str(refused.value)


def test_only_hours_that_no_clock_counts_are_forgotten() -> None:
    window = SpendWindow({NOW_HOUR - 49: 1, NOW_HOUR - 48: 2, NOW_HOUR - 25: 3, NOW_HOUR: 4})

    assert window.list_forgettable(NOON) == (NOW_HOUR - 49,)


@pytest.mark.parametrize("field", ["daily_tokens", "user_turns_per_minute", "floor_tokens"])
def test_a_limit_below_one_is_our_bug(field: str) -> None:
    with pytest.raises(ValueError, match=field):
        TurnLimits(**{field: 0})


def test_a_floor_above_a_whole_turn_is_our_bug() -> None:
    with pytest.raises(ValueError, match="floor_tokens"):
        TurnLimits(floor_tokens=158_001)


@dataclass
class Ledger:
    """What was charged when, kept beside the window as a witness."""

    window: SpendWindow = field(default_factory=SpendWindow)
    turns: list[tuple[float, Reservation, int]] = field(default_factory=list)

    def begin(self, at_s: float) -> None:
        try:
            reservation = self.window.reserve(LIMITS, NOON + timedelta(seconds=at_s))
        except DailyLimitReached:
            return
        self.window = self.window.charge(reservation.hour, reservation.tokens)
        self.turns.append((at_s, reservation, reservation.tokens))

    def end(self, index: int, share: float) -> None:
        at_s, reservation, charged = self.turns[index]
        if charged != reservation.tokens:
            return  # settled before
        kept = int(reservation.tokens * share)
        self.window = self.window.charge(reservation.hour, kept - reservation.tokens)
        self.turns[index] = (at_s, reservation, kept)

    def most_in_a_day(self) -> int:
        return max(
            (
                sum(tokens for at_s, _, tokens in self.turns if 0 <= at_s - start_s < DAY.total_seconds())
                for start_s, _, _ in self.turns
            ),
            default=0,
        )


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "begin", "begin", "end"]),
        st.floats(min_value=0, max_value=4 * 3_600),
        st.integers(min_value=0, max_value=100),
        st.floats(min_value=0, max_value=1),
    ),
    max_size=80,
)


@pytest.mark.req("A-BUDG-02", "A-BUDG-03")
@settings(max_examples=300, deadline=None)
@given(steps=STEPS)
def test_no_24_hours_wherever_they_begin_hold_more_than_the_budget(
    steps: list[tuple[str, float, int, float]],
) -> None:
    ledger, now_s = Ledger(), 0.0
    for what, later_s, index, share in steps:
        now_s += later_s
        if what == "begin":
            ledger.begin(now_s)
        elif ledger.turns:
            ledger.end(index % len(ledger.turns), share)

    assert ledger.most_in_a_day() <= LIMITS.daily_tokens
    assert all(tokens >= 0 for tokens in ledger.window.hours.values())


@given(shares=st.lists(st.integers(min_value=0, max_value=158_000), max_size=12))
def test_a_window_whose_turns_are_all_settled_holds_what_they_spent(shares: list[int]) -> None:
    window, reserved = SpendWindow(), list[Reservation]()
    for number in range(len(shares)):
        reserved.append(window.reserve(LIMITS, NOON + number * HOUR))
        window = window.charge(reserved[-1].hour, reserved[-1].tokens)
    for reservation, tokens in zip(reserved, shares, strict=True):
        window = window.charge(reservation.hour, tokens - reservation.tokens)

    assert dict(window.hours) == {NOW_HOUR + number: tokens for number, tokens in enumerate(shares)}

"""Turns a minute, exact over any 60 s."""

from datetime import timedelta

import pytest
from equerry.domain.rates import RateLimited, RateStanding, RecentTurns
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.clock import NOON

SECOND = timedelta(seconds=1)


def recent(*seconds_ago: float) -> RecentTurns:
    return RecentTurns(tuple(NOON - timedelta(seconds=ago) for ago in seconds_ago))


def test_as_many_turns_as_the_quota_pass_and_one_more_does_not() -> None:
    turns = RecentTurns()
    for _ in range(20):
        turns.require_room("user", 20, NOON)
        turns = turns.take(NOON)

    with pytest.raises(RateLimited) as refused:
        turns.require_room("user", 20, NOON)
    assert refused.value.code == "rate_limited"
    assert refused.value.retry_after_s == 60


def test_a_turn_counts_for_less_than_60_seconds() -> None:
    recent(60).require_room("user", 1, NOON)
    with pytest.raises(RateLimited) as refused:
        recent(59.999).require_room("user", 1, NOON)
    assert refused.value.retry_after_s == 1


def test_what_a_faster_clock_counted_is_counted() -> None:
    with pytest.raises(RateLimited) as refused:
        recent(-5).require_room("user", 1, NOON)
    assert refused.value.retry_after_s == 65


@pytest.mark.req("F-ABUSE-05")
def test_a_refusal_waits_for_the_turn_that_makes_room() -> None:
    with pytest.raises(RateLimited, match="ask again in 30 s") as refused:
        recent(50, 30, 10).require_room("organisation", 2, NOON)

    assert refused.value.standing == RateStanding(subject="organisation", quota=2, remaining=0, reset_s=10)


def test_what_is_left_is_told_before_it_is_used_up() -> None:
    assert recent(70, 20, 5).stand("user", 20, NOON) == RateStanding(
        subject="user", quota=20, remaining=18, reset_s=40
    )
    assert RecentTurns().stand("user", 20, NOON).remaining == 20


@given(gaps=st.lists(st.floats(min_value=0, max_value=30), max_size=60))
def test_no_minute_wherever_it_begins_holds_more_than_the_quota(gaps: list[float]) -> None:
    turns, now, accepted = RecentTurns(), NOON, []
    for gap in gaps:
        now += timedelta(seconds=gap)
        try:
            turns.require_room("user", 5, now)
        except RateLimited:
            continue
        turns = turns.take(now)
        accepted.append(now)

    for start in accepted:
        assert sum(start <= moment < start + 60 * SECOND for moment in accepted) <= 5
    assert len(turns.at) <= 5

"""How long a provider wishes to be left alone."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from equerry.adapters.rounds.failures import read_retry_after, read_status

OURS = datetime(2031, 5, 6, 12, 0, tzinfo=UTC)


def show(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


@pytest.mark.parametrize("skew", [timedelta(hours=-3), timedelta(0), timedelta(minutes=90)])
def test_a_date_is_measured_by_the_clock_that_wrote_it(skew: timedelta) -> None:
    theirs = OURS + skew
    headers = {"date": show(theirs), "retry-after": show(theirs + timedelta(seconds=30))}

    assert read_retry_after(headers, OURS) == 30


@pytest.mark.parametrize("date", [None, "yesterday", ""])
def test_without_a_clock_of_theirs_ours_is_used(date: str | None) -> None:
    headers = {
        "retry-after": show(OURS + timedelta(seconds=30)),
        **({"date": date} if date is not None else {}),
    }

    assert read_retry_after(headers, OURS) == 30


@pytest.mark.parametrize(
    "wish", ["1e999", "-5", "0", "", "Mon, 99 Foo 2031", "Tue, 06 May 2031 12:00:30 -0000"]
)
def test_a_wish_that_makes_no_sense_is_none(wish: str) -> None:
    assert read_retry_after({"retry-after": wish}, OURS) is None
    assert read_status(429, "HTTP 429", {"retry-after": wish}, OURS).retry_after_s is None


def test_milliseconds_go_first() -> None:
    assert read_retry_after({"retry-after": "9", "retry-after-ms": "1500"}, OURS) == 1.5
    assert read_retry_after({"retry-after-ms": "inf"}, OURS) is None

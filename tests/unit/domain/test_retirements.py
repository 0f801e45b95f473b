"""When models are taken away."""

from datetime import date

import pytest
from equerry.domain.retirements import NOTICE, RETIREMENTS, build_retirements
from equerry.engine.model import ModelChoice

MINI = ModelChoice(provider="openai", model="gpt-5-mini")
LAST = RETIREMENTS["openai", "gpt-5-mini"]


@pytest.mark.req("F-ROUTE-06")
def test_a_model_is_told_of_in_time_and_when_it_is_past() -> None:
    known = build_retirements(None)

    assert known.find_days_left(MINI, LAST - NOTICE) == NOTICE.days
    assert known.find_days_left(MINI, LAST) == 0
    assert (
        known.find_days_left(MINI, date(LAST.year + 1, 1, 1)) == (date(LAST.year + 1, 1, 1) - LAST).days * -1
    )
    assert known.find_days_left(MINI, date(2026, 1, 1)) is None


@pytest.mark.req("F-ROUTE-06")
@pytest.mark.parametrize(("model", "known"), [("gpt-5-mini-2025-08-07", True), ("gpt-5-mini-x", False)])
def test_a_pinned_version_ends_with_its_model(model: str, known: bool) -> None:
    last = build_retirements(None).find_last_day(ModelChoice(provider="openai", model=model))

    assert (last == LAST) is known


def test_an_operator_knows_better() -> None:
    known = build_retirements("openai/gpt-5-mini 2027-06-30, house/own 2026-12-24")

    assert known.find_last_day(MINI) == date(2027, 6, 30)
    assert known.find_last_day(ModelChoice(provider="house", model="own")) == date(2026, 12, 24)
    with pytest.raises(ValueError, match="written as"):
        build_retirements("gpt-5 soon")

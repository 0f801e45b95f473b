"""What a turn cost, where anybody has listed a price."""

from decimal import Decimal

import pytest
from equerry.domain.pricing import PRICES, find_cost, find_price, find_total
from equerry.engine.model import ModelChoice
from equerry.kernel.usage import Usage

MILLION = 1_000_000


def choose(model: str, provider: str = "anthropic") -> ModelChoice:
    return ModelChoice(provider=provider, model=model)


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(
        input_tokens=3 * MILLION,
        output_tokens=MILLION,
        cached_input_tokens=MILLION,
        cache_write_tokens=MILLION,
        reasoning_tokens=MILLION // 2,
    )

    cost = find_cost(choose("claude-haiku-4-5"), usage)

    assert cost is not None
    assert cost.usd == Decimal("1") + Decimal("5") + Decimal("0.1") + Decimal("1.25")


@pytest.mark.parametrize(
    ("model", "provider"),
    [("claude-next", "anthropic"), ("claude-haiku-4-5", "elsewhere"), ("claude-opus-5-9", "anthropic")],
)
def test_a_model_that_nobody_priced_costs_nobody_knows_what(model: str, provider: str) -> None:
    assert find_cost(choose(model, provider), Usage(input_tokens=5)) is None


def test_an_answer_without_a_model_has_no_cost() -> None:
    assert find_cost(None, Usage()) is None


def test_a_dated_id_is_the_same_model_and_a_longer_name_another() -> None:
    assert find_price(choose("claude-haiku-4-5-20251001")) == find_price(choose("claude-haiku-4-5"))
    assert find_price(choose("claude-opus-5-5")) != find_price(choose("claude-opus-5"))


def test_what_is_computed_here_costs_nothing() -> None:
    cost = find_cost(choose("extractive-1", "embedded"), Usage(input_tokens=MILLION))

    assert cost is not None
    assert cost.usd == 0


def test_every_price_is_dated_and_reading_a_cache_is_never_dearer() -> None:
    for model, price in PRICES.items():
        assert price.listed_on.year >= 2026, model
        assert price.cache_read <= price.input <= price.output, model


def test_rounds_of_several_models_are_priced_each_by_its_own() -> None:
    rounds = [
        (choose("claude-haiku-4-5"), Usage(input_tokens=MILLION)),
        (choose("claude-opus-5"), Usage(output_tokens=MILLION)),
    ]

    cost = find_total(rounds)

    assert cost is not None
    assert cost.usd == 26
    assert find_total([*rounds, (choose("unlisted"), Usage(input_tokens=1))]) is None
    assert find_total([]) is None

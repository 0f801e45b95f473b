"""What a turn cost, where anybody has listed a price."""

from decimal import Decimal

import pytest
from equerry.domain.price_list import PRICES
from equerry.domain.pricing import LISTED, build_price_list
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

    cost = LISTED.find_cost(choose("claude-haiku-4-5"), usage)

    assert cost is not None
    assert cost.usd == Decimal("1") + Decimal("5") + Decimal("0.1") + Decimal("1.25")


@pytest.mark.parametrize(
    ("model", "provider"),
    [("claude-next", "anthropic"), ("claude-haiku-4-5", "elsewhere"), ("claude-opus-5-9", "anthropic")],
)
def test_a_model_that_nobody_priced_costs_nobody_knows_what(model: str, provider: str) -> None:
    assert LISTED.find_cost(choose(model, provider), Usage(input_tokens=5)) is None


def test_an_answer_without_a_model_has_no_cost() -> None:
    assert LISTED.find_cost(None, Usage()) is None


def test_a_dated_id_is_the_same_model_and_a_longer_name_another() -> None:
    assert LISTED.find_price(choose("claude-haiku-4-5-20251001")) == LISTED.find_price(
        choose("claude-haiku-4-5")
    )
    assert LISTED.find_price(choose("claude-opus-5-5")) != LISTED.find_price(choose("claude-opus-5"))


def test_what_is_computed_here_costs_nothing() -> None:
    cost = LISTED.find_cost(choose("extractive-1", "embedded"), Usage(input_tokens=MILLION))

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

    cost = LISTED.find_total(rounds)

    assert cost is not None
    assert cost.usd == 26
    assert LISTED.find_total([*rounds, (choose("unlisted"), Usage(input_tokens=1))]) is None
    assert LISTED.find_total([]) is None


@pytest.mark.parametrize(
    ("provider", "model", "name"),
    [
        ("openai", "gpt-5.4-mini-2026-03-17", "gpt-5.4-mini"),
        ("bedrock", "global.anthropic.claude-haiku-4-5-20251001-v1:0", "global.anthropic.claude-haiku-4-5"),
        ("bedrock", "eu.amazon.nova-lite-v1:0", "eu.amazon.nova-lite"),
        (
            "bedrock",
            "arn:aws:bedrock:eu-central-1:111111111111:inference-profile/eu.anthropic.claude-opus-5",
            "eu.anthropic.claude-opus-5",
        ),
    ],
)
def test_an_id_with_its_date_or_version_is_priced_as_its_model(provider: str, model: str, name: str) -> None:
    assert LISTED.find_price(choose(model, provider)) == PRICES[provider, name]


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-5.4-pro"),
        ("openai", "gpt-5-mini-high"),
        ("google", "gemini-3.8-flash"),
        ("bedrock", "anthropic.claude-opus-5"),
        ("bedrock", "arn:aws:bedrock:eu-central-1:1:application-inference-profile/abc123"),
        ("codex", "gpt-6-sol"),
    ],
)
def test_a_name_that_only_begins_like_a_priced_one_has_no_price(provider: str, model: str) -> None:
    assert LISTED.find_cost(choose(model, provider), Usage(input_tokens=5)) is None


def test_a_long_prompt_costs_what_long_prompts_cost_whatever_was_cached_of_it() -> None:
    model = choose("gemini-2.5-pro", "google")
    short = LISTED.find_cost(model, Usage(input_tokens=200_000, cached_input_tokens=100_000))
    long = LISTED.find_cost(model, Usage(input_tokens=200_001, cached_input_tokens=100_000, output_tokens=10))

    assert short is not None
    assert long is not None
    assert short.usd == Decimal("0.1") * Decimal("1.25") + Decimal("0.1") * Decimal("0.125")
    million = Decimal(MILLION)
    assert long.usd == Decimal(100_001) / million * Decimal("2.5") + Decimal("0.025") + 150 / million


OWN = "openai/gpt-5.5 input=1 output=2 cache_read=0.5 cache_write=1 on=2027-01-02"


def test_an_operator_s_price_goes_before_the_list_s() -> None:
    prices = build_price_list(
        f"{OWN}, openai/house-model input=3 output=3 cache_read=3 cache_write=3 on=2027-01-02"
    )

    for model, usd in (("gpt-5.5", 1), ("gpt-5.5-2026-04-23", 1), ("house-model", 3)):
        cost = prices.find_cost(choose(model, "openai"), Usage(input_tokens=MILLION))
        assert cost is not None
        assert cost.usd == usd
        assert cost.priced_on.isoformat() == "2027-01-02"
    assert prices.find_price(choose("gpt-5", "openai")) == LISTED.find_price(choose("gpt-5", "openai"))


def test_a_provider_reached_elsewhere_has_only_the_prices_that_are_stated() -> None:
    prices = build_price_list(OWN, elsewhere=["openai"])

    assert prices.find_price(choose("gpt-5", "openai")) is None
    assert prices.find_price(choose("gpt-5.5", "openai")) is not None
    assert prices.find_price(choose("claude-opus-5")) is not None


@pytest.mark.parametrize(
    "wrong", ["gpt-5.5 input=1", OWN.replace("input=1", "input=free"), OWN.replace("02", "40")]
)
def test_a_price_that_is_written_otherwise_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"price|month|day"):
        build_price_list(wrong)

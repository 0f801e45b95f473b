"""What models cost, as their providers list it: one table, with the day each price was read."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from equerry.engine.model_choice import ModelChoice
from equerry.kernel.kinds import value
from equerry.kernel.usage import Usage

_MILLION = Decimal(1_000_000)


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens of each kind; reasoning counts as output."""

    listed_on: date
    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal


@value
@dataclass(frozen=True, slots=True)
class Cost:
    """What a turn cost, in US dollars, by the prices of that day."""

    usd: Decimal
    priced_on: date


def _price(listed_on: date, fresh: str, out: str, read: str, write: str) -> Price:
    return Price(
        listed_on=listed_on,
        input=Decimal(fresh),
        output=Decimal(out),
        cache_read=Decimal(read),
        cache_write=Decimal(write),
    )


_FREE = _price(date(2026, 1, 1), "0", "0", "0", "0")
_LISTED = date(2026, 10, 24)
_OPUS = _price(_LISTED, "5", "25", "0.5", "6.25")
_SONNET_4 = _price(_LISTED, "3", "15", "0.3", "3.75")
PRICES: dict[tuple[str, str], Price] = {
    # computed where the answer is made
    ("embedded", ""): _FREE,
    ("fixture", ""): _FREE,
    # A model whose price depends on the length of each prompt is left out: a turn's sum does not tell it.
    ("anthropic", "claude-opus-5-5"): _price(_LISTED, "4", "20", "0.2", "5"),
    ("anthropic", "claude-opus-5"): _OPUS,
    ("anthropic", "claude-opus-4-8"): _OPUS,
    ("anthropic", "claude-opus-4-7"): _OPUS,
    ("anthropic", "claude-opus-4-6"): _OPUS,
    ("anthropic", "claude-opus-4-5"): _OPUS,
    ("anthropic", "claude-sonnet-5-5"): _price(_LISTED, "2", "10", "0.1", "2.5"),
    ("anthropic", "claude-sonnet-5"): _price(_LISTED, "2", "10", "0.2", "2.5"),
    ("anthropic", "claude-sonnet-4-6"): _SONNET_4,
    ("anthropic", "claude-sonnet-4-5"): _SONNET_4,
    ("anthropic", "claude-haiku-4-5"): _price(_LISTED, "1", "5", "0.1", "1.25"),
}
"""By provider and by how the model's id begins, its end or a date following; the longest that fits counts."""
_DATED = re.compile(r"(?:-\d{8})?")


def find_price(model: ModelChoice) -> Price | None:
    """Return what a model costs; None where nobody has listed it, which is not nothing."""
    fitting = [
        (len(begins), price)
        for (provider, begins), price in PRICES.items()
        if provider == model.provider and _is_of(begins, model.model)
    ]
    return max(fitting, key=lambda entry: entry[0])[1] if fitting else None


def _is_of(begins: str, model: str) -> bool:
    return model.startswith(begins) and (not begins or _DATED.fullmatch(model[len(begins) :]) is not None)


def find_total(rounds: Iterable[tuple[ModelChoice | None, Usage]]) -> Cost | None:
    """Return what rounds of several models cost; None if one of them has no price, and for no rounds at all.

    The day is that of the oldest price.
    """
    costs = [find_cost(model, usage) for model, usage in rounds]
    known = [cost for cost in costs if cost is not None]
    if not known or len(known) < len(costs):
        return None
    return Cost(sum((cost.usd for cost in known), Decimal(0)), min(cost.priced_on for cost in known))


def find_cost(model: ModelChoice | None, usage: Usage) -> Cost | None:
    """Return what a usage costs; None for a model without a price.

    Input that was read from or written to a provider's cache is part of `input_tokens` and priced apart.
    """
    if model is None:
        return None
    price = find_price(model)
    if price is None:
        return None
    fresh = max(0, usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens)
    usd = (
        fresh * price.input
        + usage.output_tokens * price.output
        + usage.cached_input_tokens * price.cache_read
        + usage.cache_write_tokens * price.cache_write
    ) / _MILLION
    return Cost(usd, price.listed_on)

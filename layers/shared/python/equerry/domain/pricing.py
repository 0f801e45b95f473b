"""What a turn cost: by a list of prices, which an operator may add to."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from equerry.domain.price_list import PRICES
from equerry.domain.prices import Price, parse_price
from equerry.engine.model_choice import ModelChoice
from equerry.kernel.kinds import value
from equerry.kernel.usage import Usage

_MILLION = Decimal(1_000_000)
_VERSION = re.compile(r"(?:-\d{8}|-\d{4}-\d{2}-\d{2})?(?:-v\d+(?::\d+)?)?")
"""What may follow a model's name in its id without making it another: a date, and Bedrock's version."""


@value
@dataclass(frozen=True, slots=True)
class Cost:
    """What a turn cost, in US dollars, by the prices of that day."""

    usd: Decimal
    priced_on: date


@value
@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by provider and model; one that nobody has listed has no price, which is not nothing."""

    prices: Mapping[tuple[str, str], Price] = field(default_factory=lambda: PRICES)

    def find_price(self, model: ModelChoice) -> Price | None:
        """Return what a model costs."""
        fitting = (
            price for (provider, name), price in self.prices.items() if is_model(model, provider, name)
        )
        return next(fitting, None)

    def find_cost(self, model: ModelChoice | None, usage: Usage) -> Cost | None:
        """Return what one request costs; None for a model without a price.

        Input that was read from or written to a provider's cache is part of `input_tokens` and priced apart.
        """
        price = self.find_price(model) if model is not None else None
        if price is None:
            return None
        if price.long is not None and usage.input_tokens > price.long.above:
            price = price.long.price
        fresh = max(0, usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens)
        usd = (
            fresh * price.input
            + usage.output_tokens * price.output
            + usage.cached_input_tokens * price.cache_read
            + usage.cache_write_tokens * price.cache_write
        ) / _MILLION
        return Cost(usd, price.listed_on)

    def find_total(self, rounds: Iterable[tuple[ModelChoice | None, Usage]]) -> Cost | None:
        """Return what rounds of several models cost; None if one has no price, and for no rounds at all.

        The day is that of the oldest price.
        """
        costs = [self.find_cost(model, usage) for model, usage in rounds]
        known = [cost for cost in costs if cost is not None]
        if not known or len(known) < len(costs):
            return None
        return Cost(sum((cost.usd for cost in known), Decimal(0)), min(cost.priced_on for cost in known))


LISTED = Prices()
"""What the providers list, and nothing else."""


def build_price_list(stated: str | None, *, elsewhere: Iterable[str] = ()) -> Prices:
    """Return the providers' prices with what an operator states, which goes first.

    Args:
        stated: prices with commas between them, each as `prices.STATED` has it.
        elsewhere: providers that are reached at another address, where their own list says nothing.

    Raises:
        ValueError: a price is written otherwise.
    """
    own = dict(parse_price(text.strip()) for text in (stated or "").split(",") if text.strip())
    away = frozenset(elsewhere)
    listed = {place: price for place, price in PRICES.items() if place[0] not in away}
    return Prices({**own, **{place: price for place, price in listed.items() if place not in own}})


def is_model(model: ModelChoice, provider: str, name: str) -> bool:
    """Whether a model's id is that name, with or without a date and a version; a blank name is any."""
    if model.provider != provider:
        return False
    given = model.model.rpartition("/")[2]  # an inference profile's ARN ends with the profile's id
    return not name or (given.startswith(name) and _VERSION.fullmatch(given[len(name) :]) is not None)

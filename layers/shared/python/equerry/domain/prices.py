"""A price of tokens, and how an operator states one."""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from equerry.kernel.kinds import value

_AMOUNT = r"\d+(?:\.\d+)?"
STATED = (
    rf"[a-z-]+/[^,\s]+ input={_AMOUNT} output={_AMOUNT} cache_read={_AMOUNT} cache_write={_AMOUNT}"
    r" on=\d{4}-\d{2}-\d{2}"
)
"""A price as an operator writes it, for a million tokens of each kind, with the day it was read."""
_PART = re.compile(r"(\w+)=(\S+)")


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens of each kind; reasoning counts as output.

    Attributes:
        long: what the whole request costs instead where its prompt is long.
    """

    listed_on: date
    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    long: "LongPrompts | None" = None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class LongPrompts:
    """The price of a request with more input tokens than `above`, cached ones counted in."""

    above: int
    price: Price


def parse_price(text: str) -> tuple[tuple[str, str], Price]:
    """Read a price as `STATED` has it: its provider and model, and the price.

    Raises:
        ValueError: it is written otherwise.
    """
    if re.fullmatch(STATED, text) is None:
        raise ValueError(
            "a price must be written as provider/model input=1 output=5 cache_read=0.1 cache_write=1.25 "
            f"on=2026-11-30, got {text!r}"
        )
    pair, _, rest = text.partition(" ")
    provider, _, model = pair.partition("/")
    parts = dict(_PART.findall(rest))
    on = date.fromisoformat(parts.pop("on"))
    price = Price(
        listed_on=on,
        input=Decimal(parts["input"]),
        output=Decimal(parts["output"]),
        cache_read=Decimal(parts["cache_read"]),
        cache_write=Decimal(parts["cache_write"]),
    )
    return (provider, model), price

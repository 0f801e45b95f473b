"""What providers list that their models cost: one table, with the day each row was read.

Rows were compared in two public collections of list prices; a model on which the two differ is left out.
"""

from datetime import date
from decimal import Decimal

from equerry.domain.prices import LongPrompts, Price


def _list(
    listed_on: date,
    fresh: str,
    out: str,
    read: str,
    write: str | None = None,
    *,
    above: tuple[int, str, str, str, str | None] | None = None,
) -> Price:
    """Without `write`, writing to the cache costs what any input does."""
    long = None
    if above is not None:
        tokens, *dear = above
        long = LongPrompts(above=tokens, price=_list(listed_on, *[each or "" for each in dear]))
    return Price(
        listed_on=listed_on,
        input=Decimal(fresh),
        output=Decimal(out),
        cache_read=Decimal(read),
        cache_write=Decimal(write or fresh),
        long=long,
    )


_FREE = _list(date(2026, 1, 1), "0", "0", "0")
_EARLIER = date(2026, 10, 24)
_LISTED = date(2026, 11, 30)
_OPUS = _list(_EARLIER, "5", "25", "0.5", "6.25")
_SONNET_4 = _list(_EARLIER, "3", "15", "0.3", "3.75")
_GPT_5 = _list(_LISTED, "1.25", "10", "0.125")
_LONG_PROMPTS_DOUBLE = _list(_LISTED, "2", "12", "0.2", above=(200_000, "4", "18", "0.4", None))
_REGIONS = ("us", "eu", "apac")

_EVERYWHERE: dict[str, Price] = {
    "anthropic.claude-opus-5-5": _list(_LISTED, "4", "20", "0.2", "5"),
    "anthropic.claude-opus-5": _list(_LISTED, "5", "25", "0.5", "6.25"),
    "anthropic.claude-opus-4-8": _list(_LISTED, "5", "25", "0.5", "6.25"),
    "anthropic.claude-opus-4-7": _list(_LISTED, "5", "25", "0.5", "6.25"),
    "anthropic.claude-sonnet-5-5": _list(_LISTED, "2", "10", "0.1", "2.5"),
    "anthropic.claude-sonnet-5": _list(_LISTED, "2", "10", "0.2", "2.5"),
    "anthropic.claude-sonnet-4-6": _list(_LISTED, "3", "15", "0.3", "3.75"),
    "anthropic.claude-haiku-4-5": _list(_LISTED, "1", "5", "0.1", "1.25"),
}
_WITHIN_A_REGION: dict[str, Price] = {
    "anthropic.claude-opus-5-5": _list(_LISTED, "4.4", "22", "0.22", "5.5"),
    "anthropic.claude-opus-5": _list(_LISTED, "5.5", "27.5", "0.55", "6.875"),
    "anthropic.claude-opus-4-8": _list(_LISTED, "5.5", "27.5", "0.55", "6.875"),
    "anthropic.claude-opus-4-7": _list(_LISTED, "5.5", "27.5", "0.55", "6.875"),
    "anthropic.claude-sonnet-5-5": _list(_LISTED, "2.2", "11", "0.11", "2.75"),
    "anthropic.claude-sonnet-5": _list(_LISTED, "2.2", "11", "0.22", "2.75"),
    "anthropic.claude-sonnet-4-6": _list(_LISTED, "3.3", "16.5", "0.33", "4.125"),
    "anthropic.claude-haiku-4-5": _list(_LISTED, "1.1", "5.5", "0.11", "1.375"),
}
_LISTS: dict[str, dict[str, Price]] = {
    # computed where the answer is made
    "embedded": {"": _FREE},
    "fixture": {"": _FREE},
    "anthropic": {
        "claude-opus-5-5": _list(_EARLIER, "4", "20", "0.2", "5"),
        "claude-opus-5": _OPUS,
        "claude-opus-4-8": _OPUS,
        "claude-opus-4-7": _OPUS,
        "claude-opus-4-6": _OPUS,
        "claude-opus-4-5": _OPUS,
        "claude-sonnet-5-5": _list(_EARLIER, "2", "10", "0.1", "2.5"),
        "claude-sonnet-5": _list(_EARLIER, "2", "10", "0.2", "2.5"),
        "claude-sonnet-4-6": _SONNET_4,
        "claude-sonnet-4-5": _SONNET_4,
        "claude-haiku-5-5": _list(
            _LISTED, "0.1", "0.5", "0.01", "0.125", above=(100_000, "0.5", "2.5", "0.05", "0.625")
        ),
        "claude-haiku-4-5": _list(_EARLIER, "1", "5", "0.1", "1.25"),
    },
    "openai": {
        "gpt-6.1-sol": _list(_LISTED, "2", "10", "0.1", "2.5", above=(272_000, "4", "15", "0.2", "5")),
        "gpt-6.1-terra": _list(_LISTED, "1", "5", "0.05", "1.25", above=(272_000, "2", "7.5", "0.1", "2.5")),
        "gpt-6-astra": _list(_LISTED, "10", "50", "1", "12.5", above=(272_000, "20", "75", "2", "25")),
        "gpt-6-sol": _list(_LISTED, "2", "10", "0.2", "2.5", above=(272_000, "4", "15", "0.4", "5")),
        "gpt-6-luna": _list(
            _LISTED, "0.1", "0.5", "0.01", "0.125", above=(272_000, "0.2", "0.75", "0.02", "0.25")
        ),
        "gpt-5.6-sol": _list(_LISTED, "4", "20", "0.4", "5", above=(272_000, "8", "30", "0.8", "10")),
        "gpt-5.6-terra": _list(_LISTED, "2", "12", "0.2", "2.5", above=(272_000, "4", "18", "0.4", "5")),
        "gpt-5.6-luna": _list(
            _LISTED, "0.2", "1.2", "0.02", "0.25", above=(272_000, "0.4", "1.8", "0.04", "0.5")
        ),
        "gpt-5.5": _list(_LISTED, "5", "30", "0.5", above=(272_000, "10", "45", "1", None)),
        "gpt-5.4": _list(_LISTED, "2.5", "15", "0.25", above=(272_000, "5", "22.5", "0.5", None)),
        "gpt-5.4-mini": _list(_LISTED, "0.75", "4.5", "0.075"),
        "gpt-5.4-nano": _list(_LISTED, "0.2", "1.25", "0.02"),
        "gpt-5.2": _list(_LISTED, "1.75", "14", "0.175"),
        "gpt-5.1": _GPT_5,
        "gpt-5": _GPT_5,
        "gpt-5-mini": _list(_LISTED, "0.25", "2", "0.025"),
        "gpt-5-nano": _list(_LISTED, "0.05", "0.4", "0.005"),
        "gpt-4.1": _list(_LISTED, "2", "8", "0.5"),
        "gpt-4.1-mini": _list(_LISTED, "0.4", "1.6", "0.1"),
        "o3": _list(_LISTED, "2", "8", "0.5"),
    },
    "google": {
        # Four newer ones are left out, because what is published of them differs by half.
        "gemini-3.5-flash": _list(_LISTED, "1.5", "9", "0.15"),
        "gemini-3.5-flash-lite": _list(_LISTED, "0.3", "2.5", "0.03"),
        "gemini-3.1-pro-preview": _LONG_PROMPTS_DOUBLE,
        "gemini-3.1-flash-lite": _list(_LISTED, "0.25", "1.5", "0.025"),
        "gemini-3-flash-preview": _list(_LISTED, "0.5", "3", "0.05"),
        "gemini-2.5-pro": _list(_LISTED, "1.25", "10", "0.125", above=(200_000, "2.5", "15", "0.25", None)),
        "gemini-2.5-flash": _list(_LISTED, "0.3", "2.5", "0.03"),
        "gemini-2.5-flash-lite": _list(_LISTED, "0.1", "0.4", "0.01"),
    },
    "bedrock": {
        # By inference profile, which says where a model runs; without one the price depends on the region.
        **{f"global.{model}": price for model, price in _EVERYWHERE.items()},
        **{f"{region}.{model}": price for region in _REGIONS for model, price in _WITHIN_A_REGION.items()},
        "global.amazon.nova-2-lite": _list(_LISTED, "0.3", "2.5", "0.075"),
        "us.amazon.nova-2-lite": _list(_LISTED, "0.33", "2.75", "0.0825"),
        "eu.amazon.nova-pro": _list(_LISTED, "1.05", "4.2", "0.2625"),
        "eu.amazon.nova-lite": _list(_LISTED, "0.078", "0.312", "0.0195"),
        "eu.amazon.nova-micro": _list(_LISTED, "0.046", "0.184", "0.0115"),
    },
}
PRICES: dict[tuple[str, str], Price] = {
    (provider, model): price for provider, listed in _LISTS.items() for model, price in listed.items()
}
"""By provider and by the model's id without its date and version."""

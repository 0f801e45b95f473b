"""What a stage says of a turn's limits; the rest is the deployment's override, or the committed default."""

from collections.abc import Mapping
from dataclasses import fields

from equerry.domain.limits import TurnLimits

from infra.reading import Reader

_MOST = 10**12


def load_turn_limits(table: Reader) -> Mapping[str, int]:
    """Read what the table `[turns]` states, by the names of TurnLimits; problems are the table's."""
    read = {field.name: table.optional_integer(field.name, low=1, high=_MOST) for field in fields(TurnLimits)}
    stated = {name: amount for name, amount in read.items() if amount is not None}
    try:
        TurnLimits(**stated)
    except ValueError as problem:
        table.refuse("floor_tokens", str(problem))
    return stated

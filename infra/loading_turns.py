"""What a stage says of a turn's limits; whatever it leaves out is the committed default."""

from dataclasses import fields

from equerry.domain.limits import TurnLimits

from infra.reading import Reader

_MOST = 10**12


def load_turn_limits(table: Reader) -> TurnLimits:
    """Read the table `[turns]`; problems are the table's."""
    found = {
        field.name: table.integer(field.name, low=1, high=_MOST, default=getattr(TurnLimits(), field.name))
        for field in fields(TurnLimits)
    }
    try:
        return TurnLimits(**found)
    except ValueError as problem:
        table.refuse("floor_tokens", str(problem))
        return TurnLimits()

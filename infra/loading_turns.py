"""What a stage says of a turn's limits; the rest is the deployment's override, or the committed default."""

from collections.abc import Mapping
from dataclasses import fields

from equerry.domain.execution import WORKER_MARGIN_S, derive_longest_wall_s
from equerry.domain.limits import TurnLimits

from infra.config import StageConfig
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


def check_wall_time(root: Reader, found: StageConfig) -> None:
    """Refuse turns that would outlast their worker."""
    wall_s = found.turns.get("wall_s", TurnLimits().wall_s)
    timeout_s = found.limits.worker_timeout_s
    if wall_s > derive_longest_wall_s(timeout_s):
        more = f"{WORKER_MARGIN_S} s more than turns.wall_s ({wall_s})"
        complaint = f"must be at least {wall_s + WORKER_MARGIN_S}, {more}, got {timeout_s}"
        root.refuse("limits.worker_timeout_s", complaint)

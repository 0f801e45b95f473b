"""The one table of a deployment's limits; only the environment and an override may change it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from json import JSONDecodeError, loads

from equerry.channel.pacing import TEXT_INTERVAL_S
from equerry.kernel.kinds import result, value


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """What one turn, one person and one organisation may use.

    Attributes:
        message_chars: the longest question.
        user_turns_per_minute: accepted turns of one person in any 60 s.
        organisation_turns_per_minute: accepted turns of one organisation in any 60 s.
        daily_tokens: tokens of one organisation in any 24 h, input and output together.
        turn_input_tokens: what a turn reserves, and may not pass, of input.
        turn_output_tokens: the same of output.
        floor_tokens: with fewer left a turn is refused.
        tool_rounds: rounds with the model in a turn.
        round_tokens: output of one round.
        tool_calls: tool calls of a turn.
        history_messages: messages of the transcript that a turn may see.
        wall_s: seconds that a turn may take, from its first round to its last.
        first_chunk_s: seconds that a model may say nothing before it begins a round.
        inter_chunk_s: seconds that it may say nothing later.
        text_interval_ms: one text frame in this time at most, and none shown later than this.
    """

    message_chars: int = 120_000
    user_turns_per_minute: int = 20
    organisation_turns_per_minute: int = 120
    daily_tokens: int = 2_000_000
    turn_input_tokens: int = 150_000
    turn_output_tokens: int = 8_000
    floor_tokens: int = 8_000
    tool_rounds: int = 8
    round_tokens: int = 2_048
    tool_calls: int = 20
    history_messages: int = 40
    wall_s: int = 240
    first_chunk_s: int = 120
    inter_chunk_s: int = 60
    text_interval_ms: int = round(TEXT_INTERVAL_S * 1000)

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise ValueError(f"{field.name} must be positive, got {getattr(self, field.name)}")
        if self.floor_tokens > self.turn_tokens:
            raise ValueError(f"floor_tokens must be at most {self.turn_tokens}, got {self.floor_tokens}")

    @property
    def turn_tokens(self) -> int:
        """A full reservation."""
        return self.turn_input_tokens + self.turn_output_tokens


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedLimits:
    """The limits that hold, and why some of an override do not; each reason names what it is about."""

    limits: TurnLimits
    refused: tuple[str, ...] = ()


def resolve_limits(stated: Mapping[str, int], override: str | None) -> ResolvedLimits:
    """Return the limits of a deployment: what is stated, else the override, else what is committed.

    Args:
        stated: by the names of TurnLimits.
        override: a JSON object of the same names, of which any that is no limit is refused and the rest hold.

    Raises:
        ValueError: what is stated is no limit.
    """
    TurnLimits(**stated)
    chosen, refused = _read_override(override)
    try:
        return ResolvedLimits(limits=TurnLimits(**chosen | dict(stated)), refused=refused)
    except ValueError as problem:
        return ResolvedLimits(limits=TurnLimits(**stated), refused=(*refused, str(problem)))


def _read_override(text: str | None) -> tuple[dict[str, int], tuple[str, ...]]:
    try:
        found = loads(text or "{}")
    except JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        return {}, ("the override must be a JSON object",)
    known = {field.name for field in fields(TurnLimits)}
    chosen: dict[str, int] = {}
    refused: list[str] = []
    for name, amount in found.items():
        if name not in known:
            refused.append(f"there is no limit {name!r}")
        elif isinstance(amount, bool) or not isinstance(amount, int) or amount <= 0:
            refused.append(f"{name} must be a whole number above 0, got {amount!r}")
        else:
            chosen[name] = amount
    return chosen, tuple(refused)

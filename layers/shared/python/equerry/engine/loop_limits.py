"""What bounds a run; apart from the loop, because a profile states it and runs nothing."""

from dataclasses import dataclass, fields

from equerry.kernel.kinds import value


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """Bounds of one run.

    Attributes:
        rounds: model calls, at least 1; the last one may not call tools, so that it answers.
        tool_calls: tool executions in all.
        wall_s: seconds from the first round to the last.
        first_chunk_s: how long the model may say nothing before it begins a round, the adapter's retries
            included.
        inter_chunk_s: how long it may say nothing later; the adapters' own bounds are tighter and know more.
        round_output_tokens: output allowance of one round.
        input_tokens: cumulative input of the run.
        output_tokens: cumulative output of the run.
    """

    rounds: int = 8
    tool_calls: int = 20
    wall_s: float = 240.0
    first_chunk_s: float = 120.0
    inter_chunk_s: float = 60.0
    round_output_tokens: int = 2048
    input_tokens: int = 150_000
    output_tokens: int = 8_000

    def __post_init__(self) -> None:
        for limit in fields(self):
            amount = getattr(self, limit.name)
            if amount < 0 or (amount == 0 and limit.name != "tool_calls"):
                raise ValueError(f"{limit.name} must be positive, got {amount}")

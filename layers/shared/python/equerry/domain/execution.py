"""Where a run is executed, and within which bounds: one predicate for every entry point."""

from dataclasses import replace

from equerry.channel.events import ExecutionMode
from equerry.domain.budget import Reservation
from equerry.domain.intents import HowToIntent, Intent, NavigateIntent, NoIntent
from equerry.domain.limits import TurnLimits
from equerry.engine.loop_limits import LoopLimits

HISTORY_SHARE = 4
"""The transcript may fill a quarter of a turn's input: each round repeats it, and passages need room."""
SHORT_HISTORY_MESSAGES = 3
"""What a turn sees whose budget ran short: the question, and the exchange before it."""


WORKER_MARGIN_S = 45
"""What a worker needs beside the rounds of a turn: to claim it and read the conversation, to see a last write
end, and to persist, deliver and settle, on a database that hangs for a while."""


def derive_longest_wall_s(worker_timeout_s: int) -> int:
    """Return how long a turn may take, at least 1 s, on a worker that is stopped after so many seconds."""
    return max(1, worker_timeout_s - WORKER_MARGIN_S)


def fit_worker(limits: TurnLimits, worker_timeout_s: int) -> TurnLimits:
    """Return `limits` with no turn longer than its worker: a stage that says otherwise is not deployed, but
    the override may be changed at any time."""
    return replace(limits, wall_s=min(limits.wall_s, derive_longest_wall_s(worker_timeout_s)))


def choose_mode(intent: Intent | None) -> tuple[ExecutionMode, str]:
    """Return how to execute a run, and why, for the run's record.

    Args:
        intent: what its question is after; None where nobody looked, because the profile has no fast path.
    """
    match intent:
        case None:
            return "queued", "needs_model"
        case NavigateIntent():
            return "inline", "fast_path_navigate"
        case HowToIntent():
            return "inline", "fast_path_how_to"
        case NoIntent(reason=reason):
            return "queued", f"fast_path_{reason}"


def bound_limits(profile: LoopLimits, reserved: Reservation | None, most: TurnLimits) -> LoopLimits:
    """Return a profile's limits, none above the platform's and the tokens not above what was reserved."""
    return replace(
        profile,
        rounds=min(profile.rounds, most.tool_rounds),
        tool_calls=min(profile.tool_calls, most.tool_calls),
        wall_s=min(profile.wall_s, most.wall_s),
        first_chunk_s=min(profile.first_chunk_s, most.first_chunk_s),
        inter_chunk_s=min(profile.inter_chunk_s, most.inter_chunk_s),
        round_output_tokens=min(profile.round_output_tokens, most.round_tokens),
        input_tokens=min(profile.input_tokens, reserved.input_tokens if reserved else most.turn_input_tokens),
        output_tokens=min(
            profile.output_tokens, reserved.output_tokens if reserved else most.turn_output_tokens
        ),
    )


def choose_history(reserved: Reservation | None, most: TurnLimits) -> int:
    """Return how many messages of the transcript, the question among them, the turn may see."""
    if reserved is None or reserved.full:
        return most.history_messages
    return min(SHORT_HISTORY_MESSAGES, most.history_messages)

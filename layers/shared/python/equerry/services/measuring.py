"""What the end of a run says of how the assistants are doing."""

from datetime import datetime, timedelta

from equerry.channel.events import StopReason
from equerry.domain.conversations import Run, RunEnd
from equerry.kernel.usage import Usage
from equerry.ports.metrics import MetricName, TurnShape

_FAILED: frozenset[StopReason] = frozenset({"error", "interrupted"})
_CUT_OFF: frozenset[StopReason] = frozenset({"max_rounds", "max_tool_calls", "max_tokens", "deadline"})

_RETRIEVED: dict[MetricName, str] = {"PassagesRetrieved": "passages", "CharactersRetrieved": "characters"}


def measure_end(run: Run, end: RunEnd, *, first_text_at: datetime | None = None) -> dict[MetricName, float]:
    """Return what one ended run adds; times count from its acceptance, so that waiting for a worker shows."""
    measures: dict[MetricName, float] = {
        "Turns": 1,
        "TurnCompleteMs": _ms(end.ended_at - run.created_at),
        "TokensSpent": end.usage.input_tokens + end.usage.output_tokens,
    }
    if first_text_at is not None:
        measures["TurnFirstTokenMs"] = _ms(first_text_at - run.created_at)
    if end.usage.input_tokens:
        measures["CacheHitRatePct"] = _hit_rate_pct(end.usage)
    for name, fact in _RETRIEVED.items():
        if amount := count_facts(end, fact):
            measures[name] = amount
    if end.stop_reason in _FAILED:
        measures["TurnErrors"] = 1
    if end.stop_reason in _CUT_OFF:
        measures["TurnTruncated"] = 1
    if end.stop_reason == "refusal":
        measures["Refusals"] = 1
    return measures


def count_facts(end: RunEnd, name: str) -> int:
    """Return the sum of one fact over a run's tool calls."""
    amounts = [step.facts.get(name) for step in end.actions]
    return sum(amount for amount in amounts if isinstance(amount, int))


def derive_shape(end: RunEnd) -> TurnShape:
    """Return what a turn's time is compared by: a search takes longer than an answer out of the context."""
    if end.passages_retrieved:
        return "retrieval"
    return "tools" if end.actions else "context"


def _ms(passed: timedelta) -> float:
    return passed / timedelta(milliseconds=1)


def _hit_rate_pct(usage: Usage) -> float:
    return 100 * usage.cached_input_tokens / usage.input_tokens

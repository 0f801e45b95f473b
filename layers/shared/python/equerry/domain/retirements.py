"""When providers take their models away, as they have announced it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from equerry.domain.pricing import is_model
from equerry.engine.model_choice import ModelChoice
from equerry.kernel.kinds import value

STATED = r"[a-z-]+/[^,\s]+ \d{4}-\d{2}-\d{2}"
"""A day as an operator writes it."""
NOTICE = timedelta(days=45)
"""So long before its last day a model is told of: another one must be evaluated and deployed."""
READ_ON = date(2026, 11, 30)
RETIREMENTS: dict[tuple[str, str], date] = {
    ("anthropic", "claude-sonnet-4-5"): date(2026, 11, 30),
    ("bedrock", "eu.anthropic.claude-sonnet-4-5"): date(2027, 4, 8),
    ("bedrock", "global.anthropic.claude-sonnet-4-5"): date(2027, 4, 8),
    ("bedrock", "us.anthropic.claude-sonnet-4-5"): date(2027, 4, 8),
    ("google", "gemini-2.5-flash"): date(2026, 12, 1),
    ("google", "gemini-2.5-pro"): date(2026, 12, 1),
    ("google", "gemini-3.1-flash-lite"): date(2027, 5, 7),
    ("openai", "gpt-4.1"): date(2027, 1, 14),
    ("openai", "gpt-4.1-mini"): date(2027, 1, 14),
    ("openai", "gpt-5"): date(2026, 12, 11),
    ("openai", "gpt-5-mini"): date(2026, 12, 11),
    ("openai", "gpt-5-nano"): date(2026, 12, 11),
    ("openai", "gpt-5.1"): date(2027, 4, 1),
    ("openai", "gpt-5.4-nano"): date(2027, 4, 1),
    ("openai", "o3"): date(2026, 12, 11),
}
"""By provider and by the model's id without its date and version; what is not here has announced nothing."""


@value
@dataclass(frozen=True, slots=True)
class Retirements:
    """The last days of models."""

    days: Mapping[tuple[str, str], date] = field(default_factory=lambda: RETIREMENTS)

    def find_last_day(self, model: ModelChoice) -> date | None:
        """Return the last day a model answers; None where none is announced."""
        days = (day for (provider, name), day in self.days.items() if is_model(model, provider, name))
        return next(days, None)

    def find_days_left(self, model: ModelChoice, today: date) -> int | None:
        """Return the days left to a model whose end is near, below 0 when it is past; else None."""
        last = self.find_last_day(model)
        return (last - today).days if last is not None and last - today <= NOTICE else None


def build_retirements(stated: str | None) -> Retirements:
    """Return what is announced, with what an operator states, which goes first.

    Args:
        stated: days with commas between them, each as `STATED` has it.

    Raises:
        ValueError: a day is written otherwise.
    """
    own = dict(parse_retirement(text.strip()) for text in (stated or "").split(",") if text.strip())
    return Retirements({**own, **{place: day for place, day in RETIREMENTS.items() if place not in own}})


def parse_retirement(text: str) -> tuple[tuple[str, str], date]:
    """Read a day as `STATED` has it: the provider and model, and the day.

    Raises:
        ValueError: it is written otherwise.
    """
    if re.fullmatch(STATED, text) is None:
        raise ValueError(f"a last day must be written as provider/model 2027-01-31, got {text!r}")
    pair, _, day = text.partition(" ")
    provider, _, model = pair.partition("/")
    return (provider, model), date.fromisoformat(day)

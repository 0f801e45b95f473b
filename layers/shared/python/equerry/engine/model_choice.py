"""Which model; apart from what models are asked, because a run names its model and asks it nothing."""

from dataclasses import dataclass

from equerry.kernel.kinds import value


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model, as its provider names it."""

    provider: str
    model: str

"""Model profiles: names by which callers of structured completions get another model than the ordinary one.

A profile is configuration. Each of its arms is a provider with the models it takes; the first is asked where
nothing chooses another, and stands in for those. Where the first has no model, the ordinary one answers.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from equerry.domain.routing import Stated
from equerry.engine.model import ModelChoice, ReasoningLevel
from equerry.kernel.kinds import result, value

_LEVELS: Mapping[str, ReasoningLevel] = {"low": "low", "medium": "medium", "high": "high"}
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
IsUsable = Callable[[ModelChoice], bool]
"""Whether a pair is allowed here and has a key."""


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileArm:
    """A provider that a profile may choose; `takes` is matched against the start of a model's name."""

    provider: str
    takes: str = ""

    def is_mine(self, model: str) -> bool:
        """Whether a model of this name is this provider's."""
        return re.match(self.takes, model) is not None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionProfile:
    """One name; `arms` is never empty, and the first is asked unless another is chosen."""

    name: str
    reasoning: ReasoningLevel
    arms: tuple[ProfileArm, ...]

    @property
    def variable(self) -> str:
        """What the names of its settings begin with: `tender_check` of `tender-check`."""
        return self.name.replace("-", "_")

    def resolve(self, stated: Stated, shared: ModelChoice, *, is_usable: IsUsable) -> "ResolvedProfile":
        """Return who answers, and the names of the log events that say why it is not who was chosen."""
        first = self.arms[0]
        model = stated.model or ""
        arm = next((arm for arm in self.arms if arm.provider == stated.provider), first)
        events: tuple[str, ...] = ()
        if stated.provider not in (None, arm.provider):
            events = (self._event("provider_unavailable"),)
        elif arm != first:
            if choice := _pair(arm, model, is_usable):
                return ResolvedProfile(choice=choice)
            events = (self._event("provider_unavailable"),)
        if choice := _pair(first, model, is_usable):
            return ResolvedProfile(choice=choice, events=events)
        return ResolvedProfile(choice=shared, events=(*events, self._event("model_unset")))

    def _event(self, what: str) -> str:
        return f"{self.variable}_{what}"


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedProfile:
    """A profile's model."""

    choice: ModelChoice
    events: tuple[str, ...] = ()


def parse_profiles(text: str) -> dict[str, CompletionProfile]:
    """Read `{"name": {"reasoning": "medium", "arms": [{"provider": "google", "takes": "(?!claude)"}]}}`.

    Raises:
        ValueError: it is nothing of the kind; the message says which profile.
    """
    entries = json.loads(text) if text.strip() else {}
    return {name: _read_profile(name, entry) for name, entry in entries.items()}


def _read_profile(name: str, entry: Mapping[str, object]) -> CompletionProfile:
    arms, level = entry.get("arms"), _LEVELS.get(str(entry.get("reasoning")))
    if not _NAME.fullmatch(name) or level is None or not isinstance(arms, list) or not arms:
        raise ValueError(f"the model profile {name!r} needs a lower-case name, a reasoning level and arms")
    read = tuple(ProfileArm(provider=str(arm["provider"]), takes=str(arm.get("takes", ""))) for arm in arms)
    return CompletionProfile(name=name, reasoning=level, arms=read)


def _pair(arm: ProfileArm, model: str, is_usable: IsUsable) -> ModelChoice | None:
    choice = ModelChoice(provider=arm.provider, model=model)
    return choice if model and arm.is_mine(model) and is_usable(choice) else None

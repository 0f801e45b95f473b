"""Which models may serve which purpose, and in which order they are asked.

The purpose of a call is set by the code that makes it, never by a person or a model. What each source says is
taken in this order: the function's environment, the parameters an operator can change, the defaults. A pair
of provider and model that nobody allowed counts as not said at all, whoever said it, and is reported.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from equerry.engine.model import ModelChoice, ReasoningLevel
from equerry.kernel.kinds import result, value

Purpose = Literal["conversational", "ambient", "classification", "extraction", "judging"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

EXTRACTIVE = ModelChoice(provider="embedded", model="extractive-1")
FIXTURE = ModelChoice(provider="fixture", model="script-1")
KEYLESS = {"extractive": EXTRACTIVE, "fixture": FIXTURE}
"""What needs neither key nor network, and has one model, by the name it is chosen by."""
ENVIRONMENT, PARAMETER = "environment", "parameter"
CONVERSATION_ENVIRONMENT, CONVERSATION_PARAMETER = "conversation environment", "conversation parameter"
TABLE = "table"
"""Where a choice can come from: what the function was started with, what an operator changed since, for all
purposes or for conversations alone; and the table of purposes."""
ONLY_DIRECT = {PARAMETER: frozenset({"fixture"}), CONVERSATION_PARAMETER: frozenset({"fixture"})}
"""Providers that a source may not choose, because they belong to one machine."""
DESK = "codex"
"""Runs as the person at a machine, so only what that machine says of its conversations may choose it."""
RETIRED = frozenset({"claude-code"})
_SEARCH = "search_docs"
_UNSAID = frozenset({"", "-", "unset"})


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What one source says; None where it says nothing."""

    provider: str | None = None
    model: str | None = None

    @property
    def is_silent(self) -> bool:
        """Whether it says nothing at all."""
        return self.provider is None and self.model is None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The models of one purpose; the first is wanted, the others stand in for it, in order."""

    arms: tuple[ModelChoice, ...]
    reasoning: ReasoningLevel | None = None

    def __post_init__(self) -> None:
        if not self.arms:
            raise ValueError("a route needs at least one model")


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A choice, and why others were passed over: `source: provider/model, reason`."""

    choice: ModelChoice
    refused: tuple[str, ...] = ()


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """All that a function may ask, as its configuration has it.

    Attributes:
        allowed: pairs that may be chosen, in order of preference within a provider.
        fallbacks: pairs that stand in, in order; one that is not allowed is left out.
        reasoning: how hard each purpose thinks first, where anything is said.
        evaluations: the reference of what admitted each pair; one that nothing admitted may not be asked.
            None where that is for whoever is at the desk to decide.
    """

    allowed: tuple[ModelChoice, ...] = ()
    fallbacks: tuple[ModelChoice, ...] = ()
    reasoning: dict[Purpose, ReasoningLevel] = field(default_factory=dict)
    evaluations: Mapping[ModelChoice, str] | None = None

    def is_allowed(self, choice: ModelChoice) -> bool:
        """Whether a pair may be asked; those that need no key may always be."""
        return choice == EXTRACTIVE or (choice in self.allowed and self._is_evaluated(choice))

    def resolve(self, *sources: tuple[str, Stated]) -> Resolved:
        """Return what the first source says that may say it; without any, the responder that needs no model.

        Each source is its name and what it says. One that names a model alone means it of the provider that
        the sources after it choose; one that names a provider alone means its model of the sources after it,
        or the first that is allowed.

        Raises:
            ValueError: the environment names a provider that is retired.
        """
        refused: list[str] = []
        for place, (name, stated) in enumerate(sources):
            if stated.is_silent:
                continue
            later = [said for _, said in sources[place + 1 :]]
            choice = self._complete(stated, later)
            if reason := self._find_objection(name, choice):
                refused.append(f"{name}: {_show(stated, choice)}, {reason}")
            elif choice is not None:
                return Resolved(choice=choice, refused=tuple(refused))
        return Resolved(choice=EXTRACTIVE, refused=tuple(refused))

    def route(self, wanted: ModelChoice, purpose: Purpose) -> Route:
        """Return the way of one purpose, from the model that is wanted for it."""
        others = (arm for arm in self.fallbacks if arm != wanted and arm.provider != DESK)
        standing_in = (arm for arm in others if self.is_allowed(arm))
        return Route(arms=(wanted, *standing_in), reasoning=self.reasoning.get(purpose))

    def _complete(self, stated: Stated, later: Iterable[Stated]) -> ModelChoice | None:
        later = tuple(later)
        provider = stated.provider or next((said.provider for said in later if said.provider), None)
        if provider is None:
            return None
        if provider in KEYLESS:
            return KEYLESS[provider]
        model = stated.model or self._find_model(provider, later)
        return ModelChoice(provider=provider, model=model) if model else None

    def _find_model(self, provider: str, later: Iterable[Stated]) -> str | None:
        shared = (said.model for said in later if said.provider == provider and said.model)
        listed = (choice.model for choice in self.allowed if choice.provider == provider)
        return next(shared, None) or next(listed, None)

    def _find_objection(self, name: str, choice: ModelChoice | None) -> str | None:
        if choice is None:
            return "which names no model"
        if choice.provider in RETIRED:
            return "which is retired"
        if choice.provider == DESK and name != CONVERSATION_ENVIRONMENT:
            return f"which only the {CONVERSATION_ENVIRONMENT} may choose"
        if choice.provider in ONLY_DIRECT.get(name, ()):
            return "which only the environment may choose"
        if choice.provider == FIXTURE.provider:
            return None if self.evaluations is None else "which plays a script, and is for tests"
        if self.is_allowed(choice):
            return None
        return "which is not allowed" if choice not in self.allowed else "which no evaluation has admitted"

    def _is_evaluated(self, choice: ModelChoice) -> bool:
        return self.evaluations is None or choice in self.evaluations


def can_call(model: ModelChoice, tool: str) -> bool:
    """Whether a model makes use of a tool; the responder that needs no key searches, and no more."""
    return model != EXTRACTIVE or tool == _SEARCH


def read_stated(provider: str | None, model: str | None) -> Stated:
    """Read what a source says; blank, `-` and `UNSET` say nothing."""
    return Stated(provider=_read_name(provider), model=_read_name(model))


def parse_pairs(text: str) -> tuple[ModelChoice, ...]:
    """Read pairs like `anthropic/claude-x`, commas between them; a provider without a key stands alone.

    Raises:
        ValueError: an entry is no pair.
    """
    return tuple(_parse_pair(entry.strip()) for entry in text.split(",") if entry.strip())


def _parse_pair(entry: str) -> ModelChoice:
    if entry in KEYLESS:
        return KEYLESS[entry]
    provider, _, model = entry.partition("/")
    if not provider or not model:
        raise ValueError(f"a model must be written as provider/model, got {entry!r}")
    return ModelChoice(provider=provider, model=model)


def _read_name(text: str | None) -> str | None:
    name = (text or "").strip()
    return None if name.lower() in _UNSAID else name


def _show(stated: Stated, choice: ModelChoice | None) -> str:
    if choice is not None:
        return f"{choice.provider}/{choice.model}"
    return f"{stated.provider or '?'}/{stated.model or '?'}"

"""What a question is after, as far as that can be told without a model, and the seam where it is told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from equerry.domain.catalogue import ProductRoute
from equerry.domain.corpora import Passage
from equerry.domain.fast_path import FastPath
from equerry.domain.principal import Scope
from equerry.domain.steps import ActionOutcome
from equerry.kernel.kinds import record, value

AUDITED_AS = "fast_path"
AUDITED_AT = 9_000_000
"""Its place among a run's actions: behind every range that tool calls, drafts and looks count up in."""
FAILURES = frozenset({"unavailable", "failed"})
"""Reasons that say nothing of the question: it could not be classified."""


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceFound:
    """A page and its address; `path` is None where an id that it needs is not known."""

    route: ProductRoute
    score: float
    path: str | None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class NavigateIntent:
    """The person wants to be on a page, whose address is known."""

    route: ProductRoute
    score: float
    path: str


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class HowToIntent:
    """The person wants to be told how something is done, and a help article tells it.

    Attributes:
        section: of the article; one without a heading path is its preamble.
        place: the page it is done on, if exactly one is meant.
    """

    section: Passage
    score: float
    place: PlaceFound | None = None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class NoIntent:
    """Nothing the fast path may answer.

    Attributes:
        reason: a word for the record: other_form, no_match, ambiguous, unresolved, or one of FAILURES.
        nearest: id of what came nearest, with its `score`.
    """

    reason: str
    nearest: str | None = None
    score: float = 0.0


Intent = NavigateIntent | HowToIntent | NoIntent


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """What a question was taken for, and how long that took."""

    intent: Intent
    duration_ms: int

    @property
    def is_hit(self) -> bool:
        """Whether no model is needed."""
        return not isinstance(self.intent, NoIntent)

    @property
    def is_failure(self) -> bool:
        """Whether there was no telling."""
        return isinstance(self.intent, NoIntent) and self.intent.reason in FAILURES

    @property
    def outcome(self) -> ActionOutcome:
        """What the audit calls it: a question left to the model is no error."""
        return "error" if self.is_failure else "ok"

    def describe(self) -> dict[str, object]:
        """Return it for the audit: ids and numbers, nobody's words."""
        match self.intent:
            case NavigateIntent(route=route, score=score):
                return {"intent": "navigate", "route": route.route_id, "score": round(score, 3)}
            case HowToIntent(section=section, score=score, place=place):
                found = {
                    "intent": "how_to",
                    "article": section.document_id,
                    "passage": section.passage_id,
                    "score": round(score, 3),
                }
                return found | ({"route": place.route.route_id} if place else {})
            case NoIntent(reason=reason, nearest=nearest, score=score):
                near = {"nearest": nearest, "score": round(score, 3)} if nearest else {}
                return {"intent": "none", "reason": reason} | near


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class IntentContext:
    """What a tier may go by.

    Attributes:
        scope: for whom; whatever a tier reads, it reads under it.
        hints: ids by name as the page gave them. Untrusted: they fill in an address and decide nothing.
        by_words: what the question's words alone say; computed when it is called.
        within_s: how long a tier may take; what takes longer is slower than asking the model.
    """

    scope: Scope
    fast_path: FastPath
    hints: Mapping[str, str]
    by_words: Callable[[], Intent]
    within_s: float


class IntentTier(Protocol):
    """Decides what a question is after."""

    def classify(self, question: str, context: IntentContext) -> Intent:
        """Return what the question is after; NoIntent whenever in doubt: the model then answers.

        May raise anything: the turn is then answered by the model too.
        """
        ...


class WordsTier:
    """The shipped tier: takes what the words say as it is, and asks no model."""

    def classify(self, question: str, context: IntentContext) -> Intent:  # noqa: ARG002  # the seam's signature
        """See IntentTier."""
        return context.by_words()

"""What a question is after, as far as that can be told without a model, and the seam where it is told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from equerry.domain.catalogue import ProductRoute
from equerry.domain.corpora import Passage
from equerry.domain.fast_path import FastPath
from equerry.domain.principal import Scope
from equerry.kernel.kinds import value


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
        reason: a word for the record: other_form, no_match, ambiguous, unresolved, ...
        nearest: id of what came nearest, with its `score`.
    """

    reason: str
    nearest: str | None = None
    score: float = 0.0


Intent = NavigateIntent | HowToIntent | NoIntent


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

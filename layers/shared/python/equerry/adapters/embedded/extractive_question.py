"""What is asked: the words that an answer should cover, and how much each of them counts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from equerry.adapters.embedded.extractive_words import content_words, is_weak
from equerry.kernel.kinds import value

_CUE = re.compile(
    r"^\W*(?:and|but|or|also|then|so|ok|okay|what about|how about|why|why not|how so|how come|really)\b"
    r"|\b(?:it|its|that|this|they|them|those|these|he|she|instead|same)\b",
    re.IGNORECASE,
)
_DEFINITION = re.compile(r"^\W*(?:what(?:'s|\s+is|\s+are)|define|who\s+is)\b", re.IGNORECASE)
_LONGEST_FOLLOW_UP = 3
_LONGEST_QUERY = 400
_WEAK_WEIGHT = 0.4
_EARLIER_WEIGHT = 0.6


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question made comparable.

    Attributes:
        query: the words to search with, at most 400 characters.
        weights: each stem asked about, in order, with its importance in (0, 1].
        asks_what_is: it wants a definition.
    """

    query: str
    weights: tuple[tuple[str, float], ...]
    asks_what_is: bool


def interpret_question(text: str, *, earlier: Sequence[str] = ()) -> Question:
    """Read the person's words; a short follow-up ("and in Python 3?") borrows from the question before it.

    Args:
        text: what was asked, without its fence.
        earlier: the person's earlier turns in this conversation, oldest first.
    """
    own = content_words(text)
    follows = bool(earlier) and (not own or (len(set(own)) <= _LONGEST_FOLLOW_UP and bool(_CUE.search(text))))
    weights = {word: _WEAK_WEIGHT if is_weak(word) else 1.0 for word in own}
    if follows:
        for word in content_words(earlier[-1]):
            weights.setdefault(word, _EARLIER_WEIGHT * (_WEAK_WEIGHT if is_weak(word) else 1.0))
    asked = " ".join(f"{earlier[-1]} {text}".split() if follows else text.split())
    return Question(
        query=asked[:_LONGEST_QUERY],
        weights=tuple(weights.items()),
        asks_what_is=bool(_DEFINITION.match(text)),
    )

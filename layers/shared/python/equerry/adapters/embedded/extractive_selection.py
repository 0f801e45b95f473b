"""Which sentences best cover a question, and whether they cover it at all."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from equerry.adapters.embedded.extractive_question import Question
from equerry.adapters.embedded.extractive_sentences import Sentence, split_sentences
from equerry.adapters.embedded.extractive_words import content_words
from equerry.domain.passage_format import RenderedPassage
from equerry.kernel.kinds import value

MOST_SENTENCES = 4
MOST_CHARACTERS = 600
LEAST_COVERAGE = 0.6
"""Share of the question's weight that one passage must cover; below it we abstain."""

_HEADING_SHARE = 0.5
_REPEAT = 0.6
_ABSENT = 1.5
_WORTH_ADDING = 0.55
_DANGLING = re.compile(
    r"^(?:this|these|those|that|it|its|they|such|however|but|also|otherwise|therefore|thus|hence|so|then"
    r"|in particular|similar to)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"^(?:(?:changed|new|added|deprecated) (?:in|since)|see also|for example)\b", re.IGNORECASE
)


@value
@dataclass(frozen=True, slots=True)
class _Scored:
    sentence: Sentence
    words: frozenset[str]
    heading: frozenset[str]
    score: float


def select_sentences(question: Question, passages: Sequence[RenderedPassage]) -> tuple[Sentence, ...]:
    """Return the sentences that answer `question`, by passage and then in reading order.

    At most 4 sentences and 600 characters. Empty when nothing covers enough of the question.

    Args:
        passages: best first; a sentence's `passage` is its place in this sequence.
    """
    candidates = _score(question, passages)
    chosen: list[_Scored] = []
    for candidate in sorted(candidates, key=lambda each: -each.score):
        if _fits(candidate, chosen):
            chosen.append(candidate)
    known = frozenset[str]().union(*(each.words | each.heading for each in candidates))
    if _coverage(question, chosen, known) < LEAST_COVERAGE:
        return ()
    return tuple(sorted((each.sentence for each in chosen), key=lambda each: (each.passage, each.position)))


def _fits(candidate: _Scored, chosen: Sequence[_Scored]) -> bool:
    if not chosen:
        return candidate.score > 0
    characters = sum(len(each.sentence.text) for each in chosen) + len(candidate.sentence.text)
    return (
        len(chosen) < MOST_SENTENCES
        and characters <= MOST_CHARACTERS
        and candidate.score >= _WORTH_ADDING * chosen[0].score
        and all(_overlap(candidate.words, each.words) < _REPEAT for each in chosen)
    )


def _coverage(question: Question, chosen: Sequence[_Scored], known: frozenset[str]) -> float:
    """The best that one passage's chosen sentences cover under their heading, in [0, 1].

    Words scattered over passages are no answer, and a word in none of them weighs most: it is what the
    documents do not speak of.
    """
    weights = {word: weight * (1 if word in known else _ABSENT) for word, weight in question.weights}
    covered: dict[int, frozenset[str]] = {}
    for each in chosen:
        passage = each.sentence.passage
        covered[passage] = covered.get(passage, each.heading) | each.words
    total = sum(weights.values())
    best = max((sum(weights.get(word, 0.0) for word in words) for words in covered.values()), default=0.0)
    return best / total if total else 0.0


def _score(question: Question, passages: Sequence[RenderedPassage]) -> list[_Scored]:
    headings = [frozenset(content_words(" ".join((each.title, *each.heading_path)))) for each in passages]
    sentences = [
        each for index, passage in enumerate(passages) for each in split_sentences(passage, index=index)
    ]
    words = [content_words(each.text) for each in sentences]
    weights = _weigh(question, words)
    return [
        _Scored(
            sentence,
            frozenset(own),
            headings[sentence.passage],
            _score_sentence(question, sentence, own, headings[sentence.passage], weights),
        )
        for sentence, own in zip(sentences, words, strict=True)
    ]


def _weigh(question: Question, sentences: Sequence[tuple[str, ...]]) -> dict[str, float]:
    """Rare among the sentences counts up to twice as much as in all of them."""
    most = math.log(1 + len(sentences)) or 1.0
    held = [frozenset(words) for words in sentences]
    return {
        word: weight * (1 + math.log((1 + len(held)) / (1 + sum(word in words for words in held))) / most)
        for word, weight in question.weights
    }


def _score_sentence(
    question: Question,
    sentence: Sentence,
    words: tuple[str, ...],
    heading: frozenset[str],
    weights: dict[str, float],
) -> float:
    total = sum(weights.values())
    own = sum(weight for word, weight in weights.items() if word in words)
    under = sum(weight for word, weight in weights.items() if word in heading and word not in words)
    if not total or not own + under:
        return 0.0
    score = (own + _HEADING_SHARE * under) / total
    score += 0.1 * min(2, _pairs(question, words))
    if question.asks_what_is and _defines(sentence.text, weights):
        score += 0.3
    return score * _form(sentence) * max(0.7, 1 - 0.04 * sentence.passage)


def _pairs(question: Question, words: tuple[str, ...]) -> int:
    """How many neighbouring words of the question are neighbours in the sentence too."""
    asked = [word for word, _ in question.weights]
    return len(set(pairwise(asked)) & set(pairwise(words)))


def _defines(text: str, weights: dict[str, float]) -> bool:
    subject, verb, _ = re.split(r"\b(is|are|means|refers to|provides?)\b", f"{text} is ", maxsplit=1)[:3]
    return len(subject.split()) <= 6 and verb != "" and bool(set(content_words(subject)) & set(weights))


def _form(sentence: Sentence) -> float:
    """Prefer statements that stand alone, of a readable length, early in their passage."""
    factor = 0.8 if _DANGLING.match(sentence.text) else 1.0
    if len(sentence.text) < 45 or len(sentence.text) > 300:
        factor *= 0.8
    if _ASIDE.match(sentence.text):
        factor *= 0.6
    if not sentence.text.endswith((".", "!")):
        factor *= 0.85
    return factor * max(0.85, 1 - 0.02 * sentence.position)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))

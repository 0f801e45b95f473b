"""Scores in [0, 1] of pages and help sections against a question, from their names; the same for everyone."""

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import NamedTuple

from equerry.domain.catalogue import ProductRoute
from equerry.domain.corpora import Passage
from equerry.domain.intents import HowToIntent, Intent, NavigateIntent, NoIntent, PlaceFound
from equerry.domain.wording import EMPTY, list_terms, list_words
from equerry.kernel.kinds import value

_PLACE = re.compile(r"\s+(?:page|screen|section|tab|view|area|module)$", re.IGNORECASE)
_IN_TEXT = 0.1
"""What a word counts that stands in a section's text and in none of its headings."""
_INFLECTED = 0.75
_MARGIN = 0.1
"""A section that another article nearly equals is no answer."""


@value
class _Rated(NamedTuple):
    score: float
    section: Passage


def score_route(route: ProductRoute, wanted: str) -> float:
    """Return how much of a page's name, and how little else, `wanted` is: shared words by all words.

    A name in another inflection scores 0.75 at most: "the purchase order" is one of them, and not their page.
    """
    names = (route.label, *route.synonyms)
    return max(_liken(said, name) for said in (wanted, _PLACE.sub("", wanted)) for name in names)


def score_mention(route: ProductRoute, task: str) -> float:
    """Return how much of a page's name stands in a longer text."""
    terms = set(list_terms(task))
    names = (set(list_terms(name)) for name in (route.label, *route.synonyms))
    return max((len(terms & name) / len(name) for name in names if name), default=0.0)


def score_section(section: Passage, task: str) -> float:
    """Return how surely a section tells how `task` is done.

    The task's words must stand in the headings; the last ones may stand in the text instead, where they
    hardly count: "import rates from a spreadsheet". A heading that says more than was asked counts less, by
    the square. 0 for anything else, and if the section's own heading shares no word.
    """
    asked = list_terms(task)
    heading = section.heading_path[-1] if section.heading_path else section.title
    own = set(list_terms(heading))
    named = own | set(list_terms(" ".join((section.title, *section.heading_path))))
    led = list(takewhile(named.__contains__, asked))
    if not own.intersection(led) or not set(list_terms(section.text)).issuperset(asked[len(led) :]):
        return 0.0
    covered = (len(led) + _IN_TEXT * (len(asked) - len(led))) / len(asked)
    focus = len(own.intersection(led)) / len(own)
    return float(covered * focus**2)


def choose_place(
    scores: Iterable[tuple[float, ProductRoute]], hints: Mapping[str, str], *, least: float
) -> PlaceFound | NoIntent:
    """Return the one page that reaches `least`, or of several the one that reaches 1; none otherwise."""
    scored = sorted(scores, key=lambda rated: -rated[0])
    exact = [(score, route) for score, route in scored if score == 1]
    meant = exact if len(exact) == 1 else [(score, route) for score, route in scored if score >= least]
    if len(meant) == 1:
        score, route = meant[0]
        return PlaceFound(route=route, score=score, path=route.find_path(hints))
    nearest = scored[0] if scored and scored[0][0] > 0 else None
    return NoIntent(
        reason="ambiguous" if meant else "no_match",
        nearest=nearest[1].route_id if nearest else None,
        score=nearest[0] if nearest else 0.0,
    )


def choose_navigation(
    routes: Iterable[ProductRoute], wanted: str, hints: Mapping[str, str], *, least: float
) -> Intent:
    """Return where to go, if one page is meant and its address is known."""
    place = choose_place(((score_route(route, wanted), route) for route in routes), hints, least=least)
    if isinstance(place, NoIntent):
        return place
    if place.path is None:
        return NoIntent(reason="unresolved", nearest=place.route.route_id, score=place.score)
    return NavigateIntent(route=place.route, score=place.score, path=place.path)


def find_mentioned(
    routes: Iterable[ProductRoute], task: str, hints: Mapping[str, str], *, least: float
) -> PlaceFound | None:
    """Return the page that a task names, if exactly one is named."""
    place = choose_place(((score_mention(route, task), route) for route in routes), hints, least=least)
    return None if isinstance(place, NoIntent) else place


def choose_section(sections: Iterable[Passage], task: str, *, least: float) -> HowToIntent | NoIntent:
    """Return the section that tells how `task` is done; none if none reaches `least`, or articles compete."""
    rated = sorted(
        (_Rated(score_section(each, task), each) for each in sections), key=lambda found: -found.score
    )
    if not rated or rated[0].score == 0:
        return NoIntent(reason="no_match")
    best = rated[0]
    rivals = [found for found in rated if not _same_place(found.section, best.section)]
    is_close = bool(rivals) and rivals[0].score >= max(least, best.score - _MARGIN)
    if best.score >= least and not is_close:
        return HowToIntent(section=best.section, score=best.score)
    return NoIntent(
        reason="ambiguous" if best.score >= least else "no_match",
        nearest=best.section.document_id,
        score=best.score,
    )


def _same_place(one: Passage, other: Passage) -> bool:
    return (one.document_id, one.heading_path) == (other.document_id, other.heading_path)


def _liken(said: str, name: str) -> float:
    one, other = set(list_terms(said)), set(list_terms(name))
    if not one & other:
        return 0.0
    is_exact = set(list_words(said)) - EMPTY == set(list_words(name)) - EMPTY
    return len(one & other) / len(one | other) * (1.0 if is_exact else _INFLECTED)

"""What the fast path says, word for word: the same question gets the same answer."""

import re

from equerry.domain.catalogue import ProductRoute
from equerry.domain.citations import MAX_QUOTE_CHARS
from equerry.domain.corpora import Passage
from equerry.domain.intents import PlaceFound
from equerry.domain.passage_format import render_citation

MAX_EXCERPT_CHARS = 900
_FENCE = "```"
_SPECIAL = re.compile(r"[*_`\[\]]")
_QUOTE_CHARS = 200


def compose_navigation(route: ProductRoute, path: str) -> str:
    """Return the answer to somebody who wants to be on a page; the page itself is opened by a `ui_action`."""
    return f"**{_plain(route.label)}** is at [{path}]({path})."


def compose_how_to(section: Passage, handle: str, place: PlaceFound | None) -> str:
    """Return the answer to how something is done: the page, then the section and what it says, cited.

    Raises:
        ValueError: the section has no words that can be quoted.
    """
    where = "" if place is None else f"This is done on {_compose_place(place)}.\n\n"
    name = " › ".join(_plain(part) for part in (section.title, *section.heading_path))
    citation = render_citation(handle, _find_quote(section.text))
    return f"{where}See **{name}**: {citation}\n\n{_shorten(section.text.strip())}"


def _compose_place(place: PlaceFound) -> str:
    label = f"**{_plain(place.route.label)}**"
    return label if place.path is None else f"[{label}]({place.path})"


def _find_quote(text: str) -> str:
    """Return the first line that can be quoted, cut at a word; ValueError if there is none."""
    for line in text.split("\n"):
        words = line.strip()
        if len(words) > _QUOTE_CHARS:
            words = words[:_QUOTE_CHARS].rsplit(" ", 1)[0]
        if any(letter.isalnum() for letter in words) and "]]" not in words and not words.endswith("]"):
            return words[:MAX_QUOTE_CHARS]
    raise ValueError("the section has no line that can be quoted")


def _shorten(text: str) -> str:
    """Return a text's beginning, cut where a paragraph or else a line ends, and never inside a code fence."""
    if len(text) <= MAX_EXCERPT_CHARS:
        return text
    cut = text[:MAX_EXCERPT_CHARS]
    end = max(cut.rfind("\n\n"), cut.rfind("\n") if cut.rfind("\n\n") < MAX_EXCERPT_CHARS // 3 else -1)
    cut = cut[: end if end > 0 else cut.rfind(" ")]
    if cut.count(_FENCE) % 2:
        cut = cut[: cut.rfind(_FENCE)]
    return f"{cut.rstrip()}\n\n…"


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)

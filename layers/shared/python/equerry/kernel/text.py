"""Text primitives: comparison and shortening that never depend on layout."""

import re
import unicodedata

_SPACE = re.compile(r"\s+")
# C0 and C1, and what turns the direction of the text that follows; joiners, which scripts need, stay.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def normalise_text(text: str) -> str:
    """Return `text` in NFKC with every run of white space as one blank, and none at the ends."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip()


def shorten_text(text: str, *, limit: int) -> str:
    """Return at most `limit` characters (>= 1), cut at a word where one ends and closed with an ellipsis.

    Control characters become blanks.
    """
    flat = normalise_text(_CONTROL.sub(" ", text))
    if len(flat) <= limit:
        return flat
    cut = flat[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip() + "…"

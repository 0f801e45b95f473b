"""Text primitives: comparison and shortening that never depend on layout."""

import re
import unicodedata

_SPACE = re.compile(r"\s+")


def normalise_text(text: str) -> str:
    """Return `text` in NFKC with every run of white space as one blank, and none at the ends."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip()


def shorten_text(text: str, *, limit: int) -> str:
    """Return at most `limit` characters (>= 1), cut at a word where one ends and closed with an ellipsis."""
    flat = normalise_text(text)
    if len(flat) <= limit:
        return flat
    cut = flat[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip() + "…"

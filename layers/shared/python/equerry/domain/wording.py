"""English words as they are compared: without case, accents, inflection and what carries no meaning."""

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
EMPTY = frozenset(
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "my",
        "our",
        "your",
        "its",
        "their",
        "some",
        "any",
        "all",
        "each",
        "every",
        "new",
        "i",
        "we",
        "you",
        "he",
        "she",
        "it",
        "they",
        "me",
        "us",
        "one",
        "to",
        "in",
        "on",
        "at",
        "of",
        "for",
        "from",
        "with",
        "by",
        "as",
        "into",
        "onto",
        "up",
        "out",
        "about",
        "via",
        "and",
        "or",
        "is",
        "are",
        "be",
        "am",
        "was",
        "do",
        "does",
        "can",
        "could",
        "should",
        "would",
        "will",
        "may",
        "might",
        "please",
        "just",
        "here",
        "there",
        "now",
    ]
)
_PARTICLES = frozenset({"in", "on", "up"})
_PHRASAL = frozenset(
    {
        *("log", "logging", "logged", "sign", "signing", "signed", "turn", "turning"),
        *("switch", "switching", "check", "clock", "opt", "set"),
    }
)
"""Verbs that mean something else with another particle: to log in is not to log out."""


def list_words(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, in lower case and without accents."""
    folded = unicodedata.normalize("NFKD", text.replace("'", "").replace("’", ""))
    plain = "".join(letter for letter in folded if not unicodedata.combining(letter))
    return tuple(word.lower() for word in _WORD.findall(plain))


def list_terms(text: str) -> tuple[str, ...]:
    """Return the stems of the words that carry meaning, in order, each once."""
    words = list_words(text)
    kept = (
        word
        for word, before in zip(words, ("", *words), strict=False)
        if word not in EMPTY or (word in _PARTICLES and before in _PHRASAL)
    )
    return tuple(dict.fromkeys(derive_stem(word) for word in kept))


def derive_stem(word: str) -> str:
    """Return what the inflections of a lower-case word have in common; for comparing, not for reading.

    Good enough for headings and labels: imports, importing, imported; company, companies; rate, rates.
    """
    stem = _strip_plural(word)
    for ending in ("ing", "ed"):
        if stem.endswith(ending) and len(stem) - len(ending) >= 3:
            stem = stem[: -len(ending)]
            break
    if len(stem) > 3:
        stem = stem.removesuffix("e")
    if len(stem) > 2 and stem[-1] == stem[-2]:
        stem = stem[:-1]
    return stem[:-1] + "i" if len(stem) > 2 and stem.endswith("y") else stem


def _strip_plural(word: str) -> str:
    if len(word) <= 3 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word.removesuffix("s")

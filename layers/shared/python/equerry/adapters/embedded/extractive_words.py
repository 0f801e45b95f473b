"""Words made comparable: lower case, no stop words, light English stemming, a few synonyms."""

import re

_WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = """
a about after all also am an and any are as at be because been before being between but by can
cannot could d did do does doing don done dont during each else every etc few for from further had
has have having he her here him his how i if in into is isn it its itself just let like ll m may me
might more most must my need no nor not of off ok on once only onto or other our out over own please
re s same shall she should so some such t tell than thanks that the their them then there these they
this those through to too under until up us ve very want was way we were what when where whether
which while who whom whose why will with within without would yes you your
"""

_WEAK_WORDS = """
allow approach best better cause common correct different difference easy exactly example explain
find get give go good handle happen help kind know look main make mean new possible problem proper
put reason right say see show simple something take thing try two understand use usual
work write
"""

_STOP = frozenset(_STOP_WORDS.split())
_SYNONYMS = {
    alias: group.split()[0]
    for group in (
        "delete remove erase drop",
        "create build generate",
        "change modify edit alter update",
        "start launch boot",
        "stop terminate kill halt",
        "error exception failure fault",
        "directory folder",
        "display print output",
        "get fetch retrieve obtain",
        "fast quick speed",
        "big large",
        "list enumerate",
    )
    for alias in group.split()
}
_SUFFIXES = (
    ("ations", ""),
    ("ation", ""),
    ("ities", "ity"),
    ("ies", "y"),
    ("sses", "ss"),
    ("tions", "t"),
    ("tion", "t"),
    ("ments", ""),
    ("ment", ""),
    ("ings", ""),
    ("ing", ""),
    ("edly", ""),
    ("ed", ""),
    ("ers", "er"),
    ("ly", ""),
    ("es", ""),
    ("s", ""),
)
_SHORTEST_STEM = 3


def stem(word: str) -> str:
    """Return the form under which `word` is compared; two forms of one word mostly share it."""
    lowered = word.lower()
    return _strip(_SYNONYMS.get(lowered) or _SYNONYMS.get(_singular(lowered), lowered))


def content_words(text: str) -> tuple[str, ...]:
    """Return the stems that carry meaning, in order, with repeats."""
    return tuple(stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP)


def is_weak(stemmed: str) -> bool:
    """Whether the word says little about the subject: "use", "work", "make"."""
    return stemmed in _WEAK_STEMS


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > _SHORTEST_STEM else word


def _strip(word: str) -> str:
    if word.endswith(("ss", "us", "is")) or not word.isalpha():
        return word
    for suffix, instead in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return _settle(word[: -len(suffix)] + instead)
    return _settle(word)


def _settle(word: str) -> str:
    if len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    if len(word) > _SHORTEST_STEM and word[-1] == "e":
        return word[:-1]
    return word


_WEAK_STEMS = frozenset(stem(word) for word in _WEAK_WORDS.split())

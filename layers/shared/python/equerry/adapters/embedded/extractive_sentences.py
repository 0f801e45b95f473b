"""Prose sentences of a passage, verbatim but for layout; code, headings and fragments are left out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from equerry.domain.passage_format import RenderedPassage
from equerry.kernel.kinds import value

SHORTEST = 24
LONGEST = 420
"""Characters: shorter is seldom a statement, longer is seldom one statement."""

_FENCED_CODE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*+•‣◦]|\(?\d{1,3}[.)])\s+")
_INDENTED = re.compile(r"^(?: {4}|\t)")
_END = re.compile(r"(?<=[.!?])[\"')\]»”’]*\s+(?=[\"'(\[«“‘`]*[A-Z0-9`_])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|fig|no|mr|mrs|ms|dr|prof|st|approx|resp|incl|sec|vol|pp|ca|al)|\b[A-Z])\.$",
    re.IGNORECASE,
)
_CODE = re.compile(
    r">>>|^[$#%@]\s?|[;{}]$|==|\+=|::=|\\n|^[|+][-=|+ ]|^\S+\s*=\s|^\S+\([^)]*$|\bdef \w+\("
    r"|^(?:try|else|finally):|^(?:async )?with .* as \w+:|^(?:for|while|if|elif|class) [^,]*\w\)?: "
    r"|^(?:import|from \S+ import)\b|^(?:SELECT|INSERT|CREATE|UPDATE|DELETE) .*[A-Z]{4}"
)
_SYMBOLS = re.compile(r"[=()\[\]{}_:#@*<>\\|]")
_FINISHED = re.compile(r"[.!][\"')\]»”’]*$")
_UNQUOTABLE = re.compile(r"[⟦⟧]|\[\[|\]\]|[:?\]]$")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_FEWEST_WORDS = 4
_FEWEST_WORDS_IN_A_FRAGMENT = 7
_LEAST_LETTERS = 0.68
_MOST_SYMBOLS = 0.09
_MOST_SYMBOLS_IN_A_FRAGMENT = 0.03


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One statement; `passage` and `position` count from 0, `text` holds no line break."""

    text: str
    passage: int
    position: int


def split_sentences(passage: RenderedPassage, *, index: int) -> tuple[Sentence, ...]:
    """Return the passage's prose sentences in reading order; `position` also counts what was left out."""
    found = enumerate(_split(passage.text))
    return tuple(
        Sentence(text=text, passage=index, position=position) for position, text in found if _is_prose(text)
    )


def _split(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", _FENCED_CODE.sub("\n\n", text)):
        for unit in _units(paragraph):
            yield from _split_unit(" ".join(unit.split()))


def _units(paragraph: str) -> Iterator[str]:
    """List items one by one, other lines together; indented blocks are code and left out."""
    lines = paragraph.split("\n")
    if all(_INDENTED.match(line) and not _ITEM.match(line) for line in lines):
        return
    unit: list[str] = []
    for line in lines:
        marker = _ITEM.match(line)
        if marker and unit:
            yield " ".join(unit)
            unit = []
        unit.append(line[marker.end() :] if marker else line)
    yield " ".join(unit)


def _split_unit(text: str) -> Iterator[str]:
    start = 0
    for boundary in _END.finditer(text):
        candidate = text[start : boundary.end()].strip()
        if _ABBREVIATION.search(candidate):
            continue
        yield candidate
        start = boundary.end()
    if text[start:].strip():
        yield text[start:].strip()


def _is_prose(text: str) -> bool:
    """A statement in words; one without a full stop must be longer and freer of symbols to count."""
    finished = bool(_FINISHED.search(text))
    words = _WORDS.findall(text)
    fewest = _FEWEST_WORDS if finished else _FEWEST_WORDS_IN_A_FRAGMENT
    most_symbols = _MOST_SYMBOLS if finished else _MOST_SYMBOLS_IN_A_FRAGMENT
    return (
        SHORTEST <= len(text) <= LONGEST
        and len(words) >= fewest
        and sum(map(len, words)) >= _LEAST_LETTERS * len(text.replace(" ", ""))
        and len(_SYMBOLS.findall(text)) <= most_symbols * len(text)
        and not _UNQUOTABLE.search(text)
        and not _CODE.search(text)
    )

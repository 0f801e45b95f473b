"""An answer in Markdown out of chosen sentences, each followed by its citation."""

import re
from collections.abc import Sequence
from itertools import groupby

from equerry.adapters.embedded.extractive_sentences import Sentence
from equerry.domain.passage_format import RenderedPassage, render_citation

ABSTAINED = "I found nothing about that in the documents you can read."
NO_SEARCH = "I can only answer out of documents, and there is no document search here that I may use."

_CODE_SPAN = re.compile(r"(`+[^`]+`+)")
_SPECIAL = re.compile(r"([*<\[\]\\]|(?<!\w)_+|_+(?!\w))")
_LINE_START = re.compile(r"^([#>+-]|\d+(?=[.)]\s))")


def write_answer(sentences: Sequence[Sentence], passages: Sequence[RenderedPassage]) -> tuple[str, ...]:
    """Return the pieces to stream, which joined are the answer; a citation is one piece.

    A passage's sentences make one paragraph. No sentences, an honest refusal.
    """
    if not sentences:
        return _words(ABSTAINED)
    pieces: list[str] = []
    for passage, group in groupby(sentences, key=lambda each: each.passage):
        for number, sentence in enumerate(group):
            before = " " if number else "\n\n" if pieces else ""
            pieces += _words(before + _escape_markdown(sentence.text))
            pieces.append(render_citation(passages[passage].handle, sentence.text))
    return tuple(pieces)


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\s*\S+", text))


def _escape_markdown(text: str) -> str:
    """Show the passage's characters as they are: `__init__` is a name, not bold."""
    parts = _CODE_SPAN.split(text)
    plain = [part if part.startswith("`") else _SPECIAL.sub(_backslash, part) for part in parts]
    return _LINE_START.sub(lambda start: _start(start[1]), "".join(plain))


def _backslash(found: re.Match[str]) -> str:
    return "".join(f"\\{character}" for character in found[0])


def _start(marker: str) -> str:
    return f"{marker}\\" if marker.isdigit() else f"\\{marker}"

"""Passages as a model reads them, and citations as it writes them.

    [[p7f3k2q9]] Title > Heading > Sub
    the passage's text

    [[end p7f3k2q9]]

A handle is opaque and belongs to one run. A claim is followed by `[[p7f3k2q9|words of that passage]]`.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from equerry.domain.corpora import Passage
from equerry.kernel.kinds import value

_HANDLE = r"p[0-9a-z]{6,10}"
_LINE_START = r"(?P<start>^|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])"
_LOOKALIKE = re.compile(_LINE_START + rf"(?P<blank>\s*)(?P<rest>\\*\[\[\s*(?:end\s+)?{_HANDLE})")
_ESCAPED = re.compile(_LINE_START + rf"(?P<blank>\s*)\\(?P<rest>\\*\[\[\s*(?:end\s+)?{_HANDLE})")
_HEADER = re.compile(rf"\[\[({_HANDLE})\]\](?: (.*))?")
_END = re.compile(rf"\[\[end ({_HANDLE})\]\]")
_SEPARATOR = " > "


@value
class RenderedPassage(NamedTuple):
    """A passage read back from the text a model was given; `heading_path` is outermost first."""

    handle: str
    title: str
    heading_path: tuple[str, ...]
    text: str


def render_passages(passages: Sequence[tuple[str, Passage]]) -> str:
    """Write passages for a model, in order; no passages, no text.

    Args:
        passages: each with its handle, `p` and 6 to 10 of 0-9 and a-z.

    Raises:
        ValueError: a handle of another form.
    """
    return "\n".join(_render_passage(handle, passage) for handle, passage in passages)


def parse_passages(text: str) -> tuple[RenderedPassage, ...]:
    """Read what `render_passages` wrote; other text around the blocks is ignored.

    A block whose end is missing, because something cut the text, is returned as far as it goes.
    """
    found: list[RenderedPassage] = []
    lines: list[str] = []
    header: re.Match[str] | None = None
    for line in text.split("\n"):
        opened, ended = _HEADER.fullmatch(line), _END.fullmatch(line)
        if not opened and not ended:
            lines.append(line)
            continue
        if header:
            found.append(_parse_passage(header, lines))
        header, lines = opened, []
    if header:
        found.append(_parse_passage(header, lines))
    return tuple(found)


def render_citation(handle: str, quote: str) -> str:
    """Write the citation that follows a claim; layout inside `quote` is flattened to blanks.

    Raises:
        ValueError: `quote` is blank or holds `]]`, which would end the citation inside the quote.
    """
    flat = " ".join(quote.split())
    if not flat or "]]" in flat or flat.endswith("]"):
        raise ValueError("a quote must have words and must not hold ']]' or end with ']'")
    return f"[[{_require_handle(handle)}|{flat}]]"


def _render_passage(handle: str, passage: Passage) -> str:
    path = (passage.title, *(heading for heading in passage.heading_path if heading.strip()))
    header = _SEPARATOR.join(" ".join(part.split()).replace(">", r"\>") for part in path)
    text = _LOOKALIKE.sub(r"\g<start>\g<blank>\\\g<rest>", passage.text)
    return f"[[{_require_handle(handle)}]] {header}\n{text}\n\n[[end {handle}]]\n"


def _parse_passage(header: re.Match[str], lines: list[str]) -> RenderedPassage:
    title, *headings = (part.replace(r"\>", ">") for part in (header[2] or "").split(_SEPARATOR))
    body = "\n".join(lines[:-1] if lines and not lines[-1] else lines)
    return RenderedPassage(
        header[1], title, tuple(headings), _ESCAPED.sub(r"\g<start>\g<blank>\g<rest>", body)
    )


def _require_handle(handle: str) -> str:
    if not re.fullmatch(_HANDLE, handle):
        raise ValueError(f"a handle is 'p' and 6 to 10 of 0-9 and a-z, got {handle!r}")
    return handle

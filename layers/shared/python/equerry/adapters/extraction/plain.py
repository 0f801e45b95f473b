"""Plain text, and reStructuredText read as what it is: text with underlined headings."""

import re

from equerry.adapters.extraction.decoding import decode
from equerry.adapters.extraction.outline import Extracted, Outline

_ADORNMENT = re.compile(r"([=\-`:'\"~^_*+#<>])\1{2,}\s*")


def read_text(content: bytes, *, path: str) -> Extracted:
    """Read a text file as one section; UnreadableDocument if it is none."""
    outline = Outline(path)
    outline.add_block(decode(content))
    return outline.finish()


def read_restructured(content: bytes, *, path: str) -> Extracted:
    """Read reStructuredText: headings give the outline, everything else stays as it was written."""
    outline = Outline(path)
    levels: dict[str, int] = {}
    body: list[str] = []
    lines = decode(content).replace("\r\n", "\n").split("\n")
    number = 0
    while number < len(lines):
        found = _match_heading(lines[number : number + 3])
        if found is None:
            body.append(lines[number])
            number += 1
            continue
        style, heading, length = found
        outline.add_block("\n".join(body))
        body = []
        # A level is a style, in the order in which styles first appear.
        outline.open_section(levels.setdefault(style, len(levels) + 1), heading)
        number += length
    outline.add_block("\n".join(body))
    return outline.finish()


def _match_heading(lines: list[str]) -> tuple[str, str, int] | None:
    """Return style, heading and its number of lines if these lines begin with one."""
    if len(lines) == 3 and _is_adornment(lines[0], lines[1].strip()) and lines[0].strip() == lines[2].strip():
        return lines[0][0] * 2, lines[1].strip(), 3
    if len(lines) < 2 or not lines[0][:1].strip() or _ADORNMENT.fullmatch(lines[0]):
        return None
    return (lines[1][0], lines[0].strip(), 2) if _is_adornment(lines[1], lines[0].rstrip()) else None


def _is_adornment(line: str, heading: str) -> bool:
    return bool(heading) and bool(_ADORNMENT.fullmatch(line)) and len(line.rstrip()) >= len(heading)

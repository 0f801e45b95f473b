"""Collects blocks of text under the headings they stand under."""

import re
from pathlib import PurePosixPath

from equerry.domain.corpora import Section
from equerry.ports.extraction import UnreadableDocument

# PostgreSQL refuses NUL and lone surrogates; the other control characters only disturb readers.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b\ufeff\ud800-\udfff]")
_LONGEST_TITLE = 200
Extracted = tuple[str, tuple[Section, ...]]


class Outline:
    """A document being read: headings open sections, blocks fill them.

    Args:
        path: gives the title if the document has none.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._headings: list[tuple[int, str]] = []
        self._first_heading: str | None = None
        self._sections: list[tuple[tuple[str, ...], list[str]]] = []

    def open_section(self, level: int, heading: str) -> None:
        """Begin a section; `level` 1 is the outermost. A blank heading opens none, a long one is cut."""
        text = clean_line(heading)[:_LONGEST_TITLE]
        if not text:
            return
        self._first_heading = self._first_heading or text
        self._headings = [entry for entry in self._headings if entry[0] < level] + [(level, text)]
        self._sections.append((tuple(name for _, name in self._headings), []))

    def add_block(self, text: str) -> None:
        """Add a paragraph, list, table or fenced code; inner line breaks are kept."""
        cleaned = clean_text(text)
        if not cleaned.strip():
            return
        if not self._sections:
            self._sections.append(((), []))
        self._sections[-1][1].append(cleaned)

    def finish(self, *, title: str | None = None) -> Extracted:
        """Return title and sections; a first heading that is the title is not repeated in heading paths.

        Args:
            title: what the document itself calls its title, if it does.

        Raises:
            UnreadableDocument: there is no text.
        """
        sections = [(path, blocks) for path, blocks in self._sections if blocks]
        if not sections:
            raise UnreadableDocument("the document holds no text (a scan, perhaps); nothing to index")
        named = clean_line(title or "") or self._first_heading or PurePosixPath(self._path).stem
        return named[:_LONGEST_TITLE], tuple(
            Section(heading_path=path[1:] if path[:1] == (named,) else path, text="\n\n".join(blocks))
            for path, blocks in sections
        )


def clean_text(text: str) -> str:
    """Return the text without unprintable characters and blanks at line ends."""
    unified = _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n"))
    return "\n".join(line.rstrip() for line in unified.split("\n")).strip("\n")


def clean_line(text: str) -> str:
    """Return the text on one line."""
    return " ".join(clean_text(text).split())


def fence_code(code: str) -> str:
    """Return code between fences that chunking keeps together."""
    return f"```\n{code.strip(chr(10))}\n```" if code.strip() else ""

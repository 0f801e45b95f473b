"""Text out of files."""

from typing import Protocol

from equerry.domain.corpora import Section
from equerry.kernel.errors import InvalidInput


class UnreadableDocument(InvalidInput):
    """The bytes hold no text we can read; the message says why, for the document's owner."""

    code = "unreadable_document"


class ExtractionPort(Protocol):
    """Turns a file into titled sections."""

    def extract(self, content: bytes, *, path: str) -> tuple[str, tuple[Section, ...]]:
        """Return the document's title and its sections in reading order; deterministic.

        Args:
            content: the file's bytes.
            path: its relative path; the suffix decides the format (.md .markdown .html .htm .txt .rst .pdf).

        Raises:
            UnreadableDocument: unknown format, encrypted, broken or without text.
        """
        ...

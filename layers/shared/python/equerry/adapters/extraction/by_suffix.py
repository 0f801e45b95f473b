"""Chooses the reader by the file's suffix; a format that does not occur is never imported."""

from pathlib import PurePosixPath

from equerry.adapters.extraction.outline import Extracted
from equerry.domain.pipeline import READABLE_SUFFIXES
from equerry.ports.extraction import UnreadableDocument


class SuffixExtractionAdapter:
    """ExtractionPort for Markdown, HTML, reStructuredText, plain text and PDF."""

    def extract(self, content: bytes, *, path: str) -> Extracted:
        """See ExtractionPort."""
        match PurePosixPath(path).suffix.lower():
            case ".md" | ".markdown":
                from equerry.adapters.extraction.markdown_it import read_markdown

                return read_markdown(content, path=path)
            case ".html" | ".htm":
                from equerry.adapters.extraction.beautiful_soup import read_html

                return read_html(content, path=path)
            case ".rst":
                from equerry.adapters.extraction.plain import read_restructured

                return read_restructured(content, path=path)
            case ".txt":
                from equerry.adapters.extraction.plain import read_text

                return read_text(content, path=path)
            case ".pdf":
                from equerry.adapters.extraction.pypdf import read_pdf

                return read_pdf(content, path=path)
            case suffix:
                raise UnreadableDocument(
                    f"files of the type {suffix or 'without a suffix'!r} cannot be read;"
                    f" readable are {', '.join(READABLE_SUFFIXES)}"
                )

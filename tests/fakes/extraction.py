"""Extraction that knows plain text alone."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from equerry.domain.corpora import Section
from equerry.ports.extraction import UnreadableDocument


@dataclass(frozen=True)
class MemoryExtractionAdapter:
    """ExtractionPort: a line that begins with '# ' opens a section, everything else is text."""

    def extract(self, content: bytes, *, path: str) -> tuple[str, tuple[Section, ...]]:
        if PurePosixPath(path).suffix not in (".md", ".txt"):
            raise UnreadableDocument("readable are .md, .txt")
        if b"\0" in content or not content.strip():
            raise UnreadableDocument("the document holds no text")
        sections: list[Section] = []
        for part in content.decode().split("\n# "):
            heading, _, body = (
                part.removeprefix("# ").partition("\n") if "# " in content.decode() else ("", "", part)
            )
            sections.append(Section(heading_path=(heading,) if heading else (), text=body.strip()))
        return PurePosixPath(path).stem, tuple(section for section in sections if section.text)

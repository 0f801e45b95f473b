"""Citations: verified while the answer streams, so that a reader never sees one that does not hold.

The model writes `[[handle|verbatim quote]]` right after the claim it supports. A citation holds if the
handle was returned in this run and the quote stands in its passage; it then becomes the marker `⟦n⟧`.
Any other is removed and counted. Links and bare brackets in the prose are never taken for citations.
"""

import re
from dataclasses import dataclass, field

from equerry.channel.events import CitationRef
from equerry.domain.corpora import Passage
from equerry.domain.evidence import Evidence
from equerry.kernel.kinds import value
from equerry.kernel.text import normalise_text

CITATION_RULES = """\
Ground every statement about the documents in passages that a tool returned in this turn, and cite it.
Write a citation directly after the claim it supports, as [[handle|quote]]: the handle exactly as the tool
gave it, and a short quote copied word for word from that passage. Never cite anything else, never invent a
handle or a quote, and do not list sources at the end. If the passages do not answer the question, say so."""
"""Part of every prompt that retrieves; it stands in the platform layer, where no tenant can remove it."""

MAX_QUOTE_CHARS = 600
_MAX_CITATION_CHARS = MAX_QUOTE_CHARS + 40
_CITATION = re.compile(r"\[\[(p[0-9a-z]{6,10})\|(.*?)\]\]", re.DOTALL)
_OPENING = re.compile(r"\[\[p[0-9a-z]{0,10}\|?|\[\[p?$|\[$")
_FORGED_MARKER = str.maketrans("", "", "⟦⟧")
_MARKER = re.compile(r"\s*⟦\d+⟧")


def strip_markers(text: str) -> str:
    """Return an answer's text without its citation markers."""
    return _MARKER.sub("", text)


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class FilterMark:
    """How far a filter had come."""

    refs: tuple[CitationRef, ...]
    removed: int
    held: str


@dataclass(slots=True)
class CitationFilter:
    """Turns a model's streamed text into what a reader may see.

    Attributes:
        refs: the verified citations so far, in order of first appearance.
        removed: citations that did not hold.
    """

    evidence: Evidence
    refs: list[CitationRef] = field(default_factory=list)
    removed: int = 0
    _held: str = ""

    def feed(self, text: str) -> str:
        """Take a chunk of the model's text and return what can be shown now, possibly nothing."""
        self._held += text.translate(_FORGED_MARKER)
        shown = _CITATION.sub(self._replace, self._held)
        opening = self._find_opening(shown)
        self._held = shown[opening:]
        return shown[:opening]

    def finish(self) -> str:
        """Return what was still held back; a citation that never closed is removed and counted."""
        held, self._held = self._held, ""
        if re.match(r"\[\[p[0-9a-z]{6,10}\|", held):
            self.removed += 1
            return ""
        return held

    def mark(self) -> FilterMark:
        """Return where it stands, for `return_to`."""
        return FilterMark(refs=tuple(self.refs), removed=self.removed, held=self._held)

    def return_to(self, mark: FilterMark) -> None:
        """Forget everything that was fed since."""
        self.refs, self.removed, self._held = list(mark.refs), mark.removed, mark.held

    def _find_opening(self, text: str) -> int:
        """Return where a citation may have begun that has not closed yet."""
        for found in _OPENING.finditer(text):
            unfinished = found.group().endswith("|") or found.end() == len(text)
            if unfinished and len(text) - found.start() <= _MAX_CITATION_CHARS:
                return found.start()
        return len(text)

    def _replace(self, found: re.Match[str]) -> str:
        handle, quote = found.group(1), normalise_text(found.group(2))
        passage = self.evidence.find_passage(handle)
        if passage is None or not _holds(quote, passage):
            self.removed += 1
            return ""
        return f"⟦{self._number(passage, quote)}⟧"

    def _number(self, passage: Passage, quote: str) -> int:
        for ref in self.refs:
            if (ref.passage_id, ref.quote) == (passage.passage_id, quote):
                return ref.n
        self.refs.append(
            CitationRef(
                n=len(self.refs) + 1,
                passage_id=passage.passage_id,
                document_id=passage.document_id,
                title=passage.title,
                heading_path=passage.heading_path,
                quote=quote,
                source_path=passage.source_path,
            )
        )
        return len(self.refs)


def _holds(quote: str, passage: Passage) -> bool:
    """Whether a quote of a sensible length stands in the passage, layout and case aside."""
    if not 0 < len(quote) <= MAX_QUOTE_CHARS:
        return False
    return quote.casefold() in normalise_text(passage.text).casefold()

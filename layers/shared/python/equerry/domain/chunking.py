"""Chunking by structure: sections become passages small enough to match and whole enough to read.

A chunk never crosses a heading. Blocks (paragraphs, lists, tables, fenced code) stay whole where they fit;
a longer one is cut at lines if it is code or a table, at sentence ends if it is prose, and between words
only when a single sentence is too long. Nothing is lost, repeated or moved.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final

from equerry.domain.corpora import Chunk, Section

STRATEGY_VERSION: Final = "structure-1"
ENOUGH_WORDS: Final = 110
LONGEST_WORDS: Final = 180
# A remnant this short says little by itself; it may lengthen its predecessor by as much.
SHORTEST_WORDS: Final = 40

# A letter of a script without blanks counts as a word, and so does every stretch of 16 of anything else.
_IDEOGRAPH: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_IDEOGRAPH}]|[^\s{_IDEOGRAPH}]{{1,16}}")
_SENTENCE_END: Final = re.compile(r"[.!?][\"')\]”’]*\s+|[。！？]\s*")  # full-width marks are meant
_FENCE: Final = "```"


def chunk_sections(title: str, sections: Sequence[Section]) -> tuple[Chunk, ...]:
    """Cut a document into chunks, in reading order; the same input always gives the same chunks.

    Args:
        title: the document's; part of each chunk's hash, because it is embedded with it.
        sections: in reading order; those without words give no chunk.
    """
    texts = ((section, text) for section in sections for text in _pack(_split_blocks(section.text)))
    return tuple(
        Chunk(
            ordinal=ordinal,
            heading_path=section.heading_path,
            text=text,
            token_count=estimate_tokens(text),
            hash=_hash(title, section, text),
        )
        for ordinal, (section, text) in enumerate(texts)
    )


def describe_chunk(title: str, chunk: Chunk) -> str:
    """Return what is embedded for a chunk: where it stands, and what it says."""
    return f"{' > '.join((title, *chunk.heading_path))}\n{chunk.text}"


def count_words(text: str) -> int:
    """Return the length of a text in words, where scripts without blanks and very long words count fairly."""
    return sum(1 for _ in _WORD.finditer(text))


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a model makes of a text; never fewer than 1."""
    return max(1, math.ceil(count_words(text) * 4 / 3))


def _hash(title: str, section: Section, text: str) -> str:
    return sha256("\x1f".join((STRATEGY_VERSION, title, *section.heading_path, text)).encode()).hexdigest()


def _split_blocks(text: str) -> Iterator[str]:
    """Yield what blank lines separate; inside a code fence they separate nothing."""
    block: list[str] = []
    fenced = False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith(_FENCE)
        if line.strip() or fenced:
            block.append(line)
        elif block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)


def _pack(blocks: Iterable[str]) -> list[str]:
    packed: list[tuple[str, int]] = []
    is_open = False
    for part in (part for block in blocks for part in _fit(block)):
        words = count_words(part)
        if is_open and packed[-1][1] + words <= LONGEST_WORDS:
            packed[-1] = _join(packed[-1], (part, words))
        elif words:
            packed.append((part, words))
        is_open = bool(packed) and packed[-1][1] < ENOUGH_WORDS
    if (
        len(packed) > 1
        and packed[-1][1] < SHORTEST_WORDS
        and _sum(packed[-2:]) <= LONGEST_WORDS + SHORTEST_WORDS
    ):
        packed[-2:] = [_join(packed[-2], packed[-1])]
    return [text for text, _ in packed]


def _join(one: tuple[str, int], other: tuple[str, int]) -> tuple[str, int]:
    return (f"{one[0]}\n\n{other[0]}", one[1] + other[1])


def _sum(packed: Iterable[tuple[str, int]]) -> int:
    return sum(words for _, words in packed)


def _fit(block: str) -> list[str]:
    """Return the block whole if it fits, else its parts, none longer than LONGEST_WORDS."""
    if count_words(block) <= LONGEST_WORDS:
        return [block.strip("\n").rstrip()]
    parts: list[tuple[str, int]] = []
    for segment in _segment(block):
        words = count_words(segment)
        if parts and parts[-1][1] + words <= LONGEST_WORDS:
            parts[-1] = (parts[-1][0] + segment, parts[-1][1] + words)
        else:
            parts.append((segment, words))
    return [text.strip("\n").rstrip() for text, _ in parts]


def _segment(block: str) -> Iterator[str]:
    """Yield the block in contiguous pieces that need not be cut, none longer than LONGEST_WORDS."""
    ends = [
        found.end()
        for found in (re.finditer(r"\n", block) if _is_structured(block) else _SENTENCE_END.finditer(block))
    ]
    for start, end in zip([0, *ends], [*ends, len(block)], strict=True):
        piece = block[start:end]
        spans = [found.start() for found in _WORD.finditer(piece)][::LONGEST_WORDS]
        for cut, following in zip([0, *spans[1:]], [*spans[1:], len(piece)], strict=True):
            yield piece[cut:following]


def _is_structured(block: str) -> bool:
    lines = block.strip("\n").split("\n")
    return lines[0].lstrip().startswith(_FENCE) or all(
        " | " in line or line.lstrip().startswith(("- ", "* ", "|")) for line in lines
    )

"""Packing: as many of the best passages as a budget of tokens holds."""

from collections.abc import Iterable

from equerry.domain.corpora import Passage
from equerry.kernel.text import normalise_text


def pack_passages(passages: Iterable[Passage], *, limit: int, token_budget: int) -> tuple[Passage, ...]:
    """Return at most `limit` passages, in order, whose token counts together stay within the budget.

    The first passage is kept whatever its size. A passage that repeats another's text is left out, and so is
    one that does not fit; smaller ones after it still may.
    """
    packed: list[Passage] = []
    seen: set[str] = set()
    left = token_budget
    for passage in passages:
        text = normalise_text(passage.text)
        if text in seen or (packed and passage.token_count > left):
            continue
        if len(packed) == limit:
            break
        packed.append(passage)
        seen.add(text)
        left -= passage.token_count
    return tuple(packed)

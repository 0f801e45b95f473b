"""What a search hands back, and what a tool may call to get it."""

from collections.abc import Callable
from dataclasses import dataclass

from equerry.domain.corpora import Passage
from equerry.kernel.identifiers import CorpusId
from equerry.kernel.kinds import result


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Passages, best first, that the asking person may read.

    Attributes:
        searched: the corpora that were searched; empty when the person may read none.
        by_meaning: False when the semantic index could not be asked and words alone decided.
    """

    passages: tuple[Passage, ...]
    searched: tuple[CorpusId, ...]
    by_meaning: bool = True


Search = Callable[[str, int], Retrieval]
"""Searches for a query, at most so many passages; already bound to a scope and its corpora.

Raises Unavailable when the store does not answer.
"""

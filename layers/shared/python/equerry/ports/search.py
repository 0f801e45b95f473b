"""The two indexes over the same passages, and the passages themselves.

Both filter before they rank: tenant, corpus and reader keys are part of the query. A scope that may read
nothing gets nothing, and cannot tell that from an empty corpus.
"""

from typing import Protocol

from equerry.domain.corpora import Passage
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import CorpusId, PassageId
from equerry.ports.embedding import Vector


class VectorStorePort(Protocol):
    """The semantic index."""

    def find_nearest(
        self,
        scope: Scope,
        vector: Vector,
        *,
        embedding_version: str,
        corpora: tuple[CorpusId, ...] | None,
        limit: int,
    ) -> tuple[tuple[Passage, float], ...]:
        """Return at most `limit` permitted passages with their cosine similarity in [-1, 1], nearest first.

        Only vectors of `embedding_version` are compared. No corpora, no passages; None stands for all.
        """
        ...


class LexicalIndexPort(Protocol):
    """The full-text index."""

    def find_matching(
        self, scope: Scope, query: str, *, corpora: tuple[CorpusId, ...] | None, limit: int
    ) -> tuple[tuple[Passage, float], ...]:
        """Return at most `limit` permitted passages with their score > 0, best first.

        `query` is a person's words, never a query language. Passages that hold every word come before
        those that hold some. No corpora, no passages; None stands for all.
        """
        ...


class PassagePort(Protocol):
    """Passages by identity."""

    def fetch_passage(self, scope: Scope, passage_id: PassageId) -> Passage:
        """Return a passage as it was when it was cited, also when a newer version has replaced it.

        Raises:
            NotFound: unknown, withdrawn, or not for this scope.
        """
        ...

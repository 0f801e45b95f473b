"""What a search hands back, and what a tool may call to get it."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from equerry.domain.corpora import Passage
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import CorpusId, DocumentId, PassageId
from equerry.kernel.kinds import record, result, value
from equerry.kernel.text import normalise_text

MOST_CHARACTERS = 5_000_000
"""Passages that one person may have in 24 hours before somebody looks: more than anyone reads in a day."""


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedPassage:
    """A passage that a search returned, and why it stands there; a score is None where none was given."""

    passage_id: PassageId
    document_id: DocumentId
    corpus_id: CorpusId
    version: int
    semantic: float | None = None
    lexical: float | None = None
    fused: float | None = None


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalDecision:
    """What a search decided: ids, counts and scores, and neither the question nor a passage's text.

    Attributes:
        kind: by meaning and words together, or by exact words.
        query_sha256: tells whether two searches asked the same; see `hash_query`.
        predicate: which permissions filtered; see `derive_predicate`.
        candidates: how many each index gave, before they were fused.
        fused: how many different ones these were.
        searched: as of `Retrieval`.
    """

    kind: Literal["search", "lookup"]
    query_sha256: str
    query_chars: int
    predicate: str
    embedding: str | None
    semantic_candidates: int
    lexical_candidates: int
    fused: int
    searched: tuple[CorpusId, ...]
    returned: tuple[ReturnedPassage, ...]

    def to_account(self) -> dict[str, object]:
        """Return it as the run's record keeps it."""
        return {
            "kind": self.kind,
            "querySha256": self.query_sha256,
            "queryCharacters": self.query_chars,
            "predicate": self.predicate,
            "embedding": self.embedding,
            "corpora": list(self.searched),
            "candidates": {"semantic": self.semantic_candidates, "lexical": self.lexical_candidates},
            "fused": self.fused,
            "returned": [_describe(passage) for passage in self.returned],
        }


def hash_query(query: str) -> str:
    """Return the same 16 hexadecimal digits for the same question, whatever its case and spacing."""
    return sha256(normalise_text(query).casefold().encode()).hexdigest()[:16]


def derive_predicate(scope: Scope) -> str:
    """Return the same 16 hexadecimal digits for whoever may read the same: organisation, person, projects."""
    keys = [scope.organisation_id, scope.user_id, *sorted(scope.project_ids)]
    return sha256("\x1f".join(keys).encode()).hexdigest()[:16]


def _describe(passage: ReturnedPassage) -> dict[str, object]:
    scores = {"semantic": passage.semantic, "lexical": passage.lexical, "fused": passage.fused}
    return {
        "passageId": passage.passage_id,
        "documentId": passage.document_id,
        "corpusId": passage.corpus_id,
        "version": passage.version,
        "scores": {name: round(score, 4) for name, score in scores.items() if score is not None},
    }


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Passages, best first, that the asking person may read.

    Attributes:
        searched: the corpora that gave a candidate, by id; if none did, those that were searched, empty when
            the person may read none.
        by_meaning: False when the semantic index could not be asked and words alone decided.
        decision: how it came about, for the run's record.
    """

    passages: tuple[Passage, ...]
    searched: tuple[CorpusId, ...]
    by_meaning: bool = True
    decision: RetrievalDecision | None = None


Search = Callable[[str, int], Retrieval]
"""Searches for a query, at most so many passages; already bound to a scope and its corpora.

Raises Unavailable when the store does not answer.
"""

"""Retrieval: both indexes under one scope, fused, without repeats, within a budget."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from equerry.domain.corpora import Passage
from equerry.domain.fusion import FusionWeights, fuse
from equerry.domain.packing import pack_passages
from equerry.domain.principal import Scope
from equerry.domain.retrieval import (
    Retrieval,
    RetrievalDecision,
    ReturnedPassage,
    derive_predicate,
    hash_query,
)
from equerry.kernel.errors import EquerryError
from equerry.kernel.identifiers import CorpusId, PassageId
from equerry.ports.documents import DocumentPort
from equerry.ports.embedding import EmbeddingPort, Vector
from equerry.ports.search import LexicalIndexPort, VectorStorePort

Scored = tuple[tuple[Passage, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalService:
    """Searches.

    Attributes:
        weights: of the fusion.
        candidates: taken from each index before they are fused.
        token_budget: of all returned passages together.
    """

    documents: DocumentPort
    vectors: VectorStorePort
    words: LexicalIndexPort
    embedding: EmbeddingPort
    weights: FusionWeights = field(default_factory=FusionWeights)
    candidates: int = 50
    token_budget: int = 4000

    def search(
        self, scope: Scope, query: str, *, corpora: tuple[CorpusId, ...] | None, limit: int
    ) -> Retrieval:
        """Answer an open question from both indexes.

        Args:
            corpora: which may be searched; None stands for all. Of either, what the scope may not read is
                left out, and not told from what is not there.
            limit: passages at most, >= 1.

        Raises:
            Unavailable: the store does not answer. A failing embedding model alone is no failure: words
                then decide, and the result says so.
        """
        vector = self._embed(query)
        semantic = self._find_nearest(scope, vector, corpora) if vector else ()
        lexical = self.words.find_matching(scope, query, corpora=corpora, limit=self.candidates)
        passages = _index(semantic, lexical)
        searched = self._name_searched(scope, corpora, passages.values())
        fused = fuse(_keys(semantic), _keys(lexical), self.weights)
        packed = self._pack((passages[key] for key, _ in fused), limit)
        scores = _Scores(semantic=dict(_keys(semantic)), lexical=dict(_keys(lexical)), fused=dict(fused))
        decision = RetrievalDecision(
            kind="search",
            query_sha256=hash_query(query),
            query_chars=len(query),
            predicate=derive_predicate(scope),
            embedding=self.embedding.version if vector is not None else None,
            semantic_candidates=len(semantic),
            lexical_candidates=len(lexical),
            fused=len(fused),
            searched=searched,
            returned=scores.describe(packed),
        )
        return Retrieval(passages=packed, searched=searched, by_meaning=vector is not None, decision=decision)

    def lookup(
        self, scope: Scope, terms: str, *, corpora: tuple[CorpusId, ...] | None, limit: int
    ) -> Retrieval:
        """Look up exact terms; passages that hold them to the letter come first. See `search`."""
        lexical = self.words.find_matching(scope, terms, corpora=corpora, limit=self.candidates)
        searched = self._name_searched(scope, corpora, (passage for passage, _ in lexical))
        wanted = " ".join(terms.lower().split())
        ordered = sorted((passage for passage, _ in lexical), key=lambda passage: not _holds(passage, wanted))
        packed = self._pack(ordered, limit)
        decision = RetrievalDecision(
            kind="lookup",
            query_sha256=hash_query(terms),
            query_chars=len(terms),
            predicate=derive_predicate(scope),
            embedding=None,
            semantic_candidates=0,
            lexical_candidates=len(lexical),
            fused=len(ordered),
            searched=searched,
            returned=_Scores(lexical=dict(_keys(lexical))).describe(packed),
        )
        return Retrieval(passages=packed, searched=searched, decision=decision)

    def _name_searched(
        self, scope: Scope, corpora: tuple[CorpusId, ...] | None, found: Iterable[Passage]
    ) -> tuple[CorpusId, ...]:
        """Name what gave something. Listing what may be read costs more than a search: for when none did."""
        if gave := {passage.corpus_id for passage in found}:
            return tuple(sorted(gave))
        readable = tuple(corpus.corpus_id for corpus in self.documents.list_corpora(scope) if corpus.passages)
        return readable if corpora is None else tuple(corpus for corpus in corpora if corpus in readable)

    def _embed(self, query: str) -> Vector | None:
        try:
            return self.embedding.embed_query(query)
        except EquerryError:
            return None

    def _find_nearest(self, scope: Scope, vector: Vector, corpora: tuple[CorpusId, ...] | None) -> Scored:
        return self.vectors.find_nearest(
            scope,
            vector,
            embedding_version=self.embedding.version,
            corpora=corpora,
            limit=self.candidates,
        )

    def _pack(self, passages: Iterable[Passage], limit: int) -> tuple[Passage, ...]:
        return pack_passages(passages, limit=limit, token_budget=self.token_budget)


@dataclass(slots=True, kw_only=True)
class _Scores:
    """What each stage gave a passage."""

    semantic: dict[PassageId, float] = field(default_factory=dict)
    lexical: dict[PassageId, float] = field(default_factory=dict)
    fused: dict[PassageId, float] = field(default_factory=dict)

    def describe(self, passages: Iterable[Passage]) -> tuple[ReturnedPassage, ...]:
        return tuple(
            ReturnedPassage(
                passage_id=passage.passage_id,
                document_id=passage.document_id,
                corpus_id=passage.corpus_id,
                version=passage.version,
                semantic=self.semantic.get(passage.passage_id),
                lexical=self.lexical.get(passage.passage_id),
                fused=self.fused.get(passage.passage_id),
            )
            for passage in passages
        )


def _index(*lists: Scored) -> dict[PassageId, Passage]:
    return {passage.passage_id: passage for found in lists for passage, _ in found}


def _keys(found: Scored) -> tuple[tuple[PassageId, float], ...]:
    return tuple((passage.passage_id, score) for passage, score in found)


def _holds(passage: Passage, terms: str) -> bool:
    return terms in " ".join(" ".join((*passage.heading_path, passage.text)).lower().split())

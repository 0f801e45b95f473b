"""Retrieval: both indexes under one scope, fused, without repeats, within a budget."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from equerry.domain.corpora import Passage
from equerry.domain.fusion import FusionWeights, fuse
from equerry.domain.packing import pack_passages
from equerry.domain.principal import Scope
from equerry.domain.retrieval import Retrieval
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
            corpora: which may be searched; None stands for every corpus the scope may read.
            limit: passages at most, >= 1.

        Raises:
            Unavailable: the store does not answer. A failing embedding model alone is no failure: words
                then decide, and the result says so.
        """
        searched = self._resolve(scope, corpora)
        vector = self._embed(query)
        semantic = self._find_nearest(scope, vector, searched) if vector else ()
        lexical = self.words.find_matching(scope, query, corpora=searched, limit=self.candidates)
        passages = _index(semantic, lexical)
        fused = fuse(_keys(semantic), _keys(lexical), self.weights)
        return self._answer(
            (passages[key] for key, _ in fused), searched, limit, by_meaning=vector is not None
        )

    def lookup(
        self, scope: Scope, terms: str, *, corpora: tuple[CorpusId, ...] | None, limit: int
    ) -> Retrieval:
        """Look up exact terms; passages that hold them to the letter come first. See `search`."""
        searched = self._resolve(scope, corpora)
        lexical = self.words.find_matching(scope, terms, corpora=searched, limit=self.candidates)
        wanted = " ".join(terms.lower().split())
        ordered = sorted((passage for passage, _ in lexical), key=lambda passage: not _holds(passage, wanted))
        return self._answer(ordered, searched, limit, by_meaning=True)

    def _resolve(self, scope: Scope, corpora: tuple[CorpusId, ...] | None) -> tuple[CorpusId, ...]:
        readable = tuple(corpus.corpus_id for corpus in self.documents.list_corpora(scope) if corpus.passages)
        return readable if corpora is None else tuple(corpus for corpus in corpora if corpus in readable)

    def _embed(self, query: str) -> Vector | None:
        try:
            return self.embedding.embed_query(query)
        except EquerryError:
            return None

    def _find_nearest(self, scope: Scope, vector: Vector, corpora: tuple[CorpusId, ...]) -> Scored:
        return self.vectors.find_nearest(
            scope,
            vector,
            embedding_version=self.embedding.version,
            corpora=corpora,
            limit=self.candidates,
        )

    def _answer(
        self, passages: Iterable[Passage], searched: tuple[CorpusId, ...], limit: int, *, by_meaning: bool
    ) -> Retrieval:
        packed = pack_passages(passages, limit=limit, token_budget=self.token_budget)
        return Retrieval(passages=packed, searched=searched, by_meaning=by_meaning)


def _index(*lists: Scored) -> dict[PassageId, Passage]:
    return {passage.passage_id: passage for found in lists for passage, _ in found}


def _keys(found: Scored) -> tuple[tuple[PassageId, float], ...]:
    return tuple((passage.passage_id, score) for passage, score in found)


def _holds(passage: Passage, terms: str) -> bool:
    return terms in " ".join(" ".join((*passage.heading_path, passage.text)).lower().split())

"""Fusion: two ranked lists become one, by weights that are data."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from equerry.kernel.kinds import value

_K = TypeVar("_K")
Ranked = Sequence[tuple[_K, float]]


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class FusionWeights:
    """How much each index counts; the defaults are what evaluation supports (see bench/retrieval.py).

    Attributes:
        method: "scores" adds normalised scores, "ranks" adds reciprocals of ranks.
        semantic: weight of the semantic list, >= 0.
        lexical: weight of the lexical list, >= 0.
        rank_offset: of the reciprocal ranks; larger flattens them.
        least_similarity: semantic results below it, in [-1, 1], count as not found.
    """

    method: Literal["scores", "ranks"] = "scores"
    semantic: float = 0.9
    lexical: float = 0.1
    rank_offset: int = 60
    least_similarity: float = 0.15

    def __post_init__(self) -> None:
        if min(self.semantic, self.lexical) < 0 or self.semantic + self.lexical == 0:
            raise ValueError(f"weights must be >= 0 and not both 0, got {self.semantic} and {self.lexical}")
        if self.rank_offset < 1:
            raise ValueError(f"rank_offset must be >= 1, got {self.rank_offset}")


def fuse(semantic: Ranked[_K], lexical: Ranked[_K], weights: FusionWeights) -> tuple[tuple[_K, float], ...]:
    """Return every key of either list once, best first; ties keep the order of first appearance.

    Args:
        semantic: keys with their cosine similarity, best first.
        lexical: keys with a score > 0, best first.
    """
    near = [(key, score) for key, score in semantic if score >= weights.least_similarity]
    lists = ((near, weights.semantic), (lexical, weights.lexical))
    fused: dict[_K, float] = defaultdict(float)
    for ranked, weight in lists:
        scores = (
            _normalise(ranked) if weights.method == "scores" else _reciprocal(ranked, weights.rank_offset)
        )
        for (key, _), score in zip(ranked, scores, strict=True):
            fused[key] += weight * score
    return tuple(sorted(fused.items(), key=lambda entry: -entry[1]))


def _normalise(ranked: Ranked[_K]) -> list[float]:
    """Scores as parts of the list's best, in [0, 1]: absolute distances stay comparable."""
    best = max((score for _, score in ranked), default=1.0)
    return [max(score, 0.0) / best if best > 0 else 0.0 for _, score in ranked]


def _reciprocal(ranked: Ranked[_K], offset: int) -> list[float]:
    return [1.0 / (offset + rank) for rank in range(1, len(ranked) + 1)]

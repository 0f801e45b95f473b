"""Measures of one ranked answer against what should have been found; no model, no store."""

import math
from collections.abc import Collection, Hashable, Sequence


def measure_recall(found: Sequence[Hashable], expected: Collection[Hashable], *, k: int) -> float:
    """Return the part of `expected` among the first `k` found, in [0, 1]; 1 if nothing was expected."""
    wanted = set(expected)
    return len(wanted.intersection(found[:k])) / len(wanted) if wanted else 1.0


def measure_reciprocal_rank(found: Sequence[Hashable], expected: Collection[Hashable], *, k: int) -> float:
    """Return 1 / the rank of the first expected one among the first `k`, 0 if there is none."""
    ranks = (rank for rank, entry in enumerate(found[:k], start=1) if entry in expected)
    return 1.0 / next(ranks, math.inf)


def measure_ndcg(found: Sequence[Hashable], expected: Collection[Hashable], *, k: int) -> float:
    """Return the normalised discounted cumulative gain of the first `k`, in [0, 1], one for each expected.

    An entry found twice gains once. Nothing expected gives 1.
    """
    ideal = sum(_discount(rank) for rank in range(1, min(len(set(expected)), k) + 1))
    gained: set[Hashable] = set()
    gain = 0.0
    for rank, entry in enumerate(found[:k], start=1):
        if entry in expected and entry not in gained:
            gained.add(entry)
            gain += _discount(rank)
    return gain / ideal if ideal else 1.0


def _discount(rank: int) -> float:
    return 1.0 / math.log2(rank + 1)

"""Embedding models."""

from collections.abc import Sequence
from typing import Protocol

Vector = tuple[float, ...]
"""One embedding, L2-normalised."""


class EmbeddingPort(Protocol):
    """One embedding model.

    `version` names model and preparation ("minilm-l6-v2-int8/1"): vectors of different versions are
    never compared.
    """

    @property
    def version(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed_query(self, text: str) -> Vector:
        """Return one vector of `dimensions`."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        """Return a vector for each text, in order; empty for none."""
        ...

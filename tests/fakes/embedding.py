"""An embedding model that needs none: words hashed into dimensions, so that shared words are similar."""

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from equerry.kernel.errors import Unavailable
from equerry.ports.embedding import Vector


@dataclass
class MemoryEmbeddingAdapter:
    """EmbeddingPort; counts what it embedded and fails while told to."""

    version: str = "memory/1"
    dimensions: int = 384
    embedded: list[str] = field(default_factory=list)
    is_down: bool = False

    def embed_query(self, text: str) -> Vector:
        self._require_up()
        return self._embed(text)

    def embed_passages(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        self._require_up()
        self.embedded += texts
        return tuple(self._embed(text) for text in texts)

    def _require_up(self) -> None:
        if self.is_down:
            raise Unavailable("the embedding model is not answering")

    def _embed(self, text: str) -> Vector:
        numbers = [0.0] * self.dimensions
        for word in re.findall(r"\w+", text.lower()) or [""]:
            numbers[int(hashlib.sha256(word.encode()).hexdigest(), 16) % self.dimensions] += 1.0
        length = math.sqrt(sum(number * number for number in numbers))
        return tuple(number / length for number in numbers)

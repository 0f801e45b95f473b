"""Which adapter serves EmbeddingPort."""

from equerry.ports.embedding import EmbeddingPort


def build_embedding(provider: str) -> EmbeddingPort:
    """Build the configured provider's adapter; the model itself is loaded at first use.

    Raises:
        ValueError: an unknown provider.
    """
    if provider != "embedded":
        raise ValueError(f"EMBEDDING_PROVIDER must be 'embedded', got {provider!r}")
    from equerry.adapters.embedded.minilm import MiniLmEmbeddingAdapter

    return MiniLmEmbeddingAdapter()

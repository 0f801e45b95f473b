"""EmbeddingPort: over the embedded model and over the fake."""

import math
from functools import cache

import pytest
from equerry.adapters.embedded.minilm import MiniLmEmbeddingAdapter
from equerry.ports.embedding import EmbeddingPort, Vector

from tests.fakes.embedding import MemoryEmbeddingAdapter


@cache
def load_minilm() -> MiniLmEmbeddingAdapter:
    return MiniLmEmbeddingAdapter()


@pytest.fixture(params=["memory", "minilm"])
def embedding(request: pytest.FixtureRequest) -> EmbeddingPort:
    return MemoryEmbeddingAdapter() if request.param == "memory" else load_minilm()


def similarity(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_every_vector_has_the_stated_dimensions_and_length_one(embedding: EmbeddingPort) -> None:
    vectors = embedding.embed_passages(["How to rotate a key.", "x", "", "🔑 ключ", "word " * 2000])

    assert len(vectors) == 5
    for vector in vectors:
        assert len(vector) == embedding.dimensions
        assert math.isclose(similarity(vector, vector), 1.0, abs_tol=1e-4)


def test_nothing_to_embed_gives_nothing(embedding: EmbeddingPort) -> None:
    assert embedding.embed_passages([]) == ()


def test_vectors_come_in_the_order_of_their_texts(embedding: EmbeddingPort) -> None:
    texts = [f"{'word ' * (place % 7)}passage number {place}" for place in range(40)]

    vectors = embedding.embed_passages(texts)

    for place in (0, 13, 39):
        assert similarity(vectors[place], embedding.embed_query(texts[place])) > 0.98


def test_the_same_text_gives_the_same_vector(embedding: EmbeddingPort) -> None:
    assert embedding.embed_query("rotate a key") == embedding.embed_query("rotate a key")


def test_a_related_passage_is_nearer_than_an_unrelated_one(embedding: EmbeddingPort) -> None:
    question = embedding.embed_query("how to rotate a signing key")
    related, unrelated = embedding.embed_passages(
        ["To rotate the signing key, make a new key first.", "The canteen opens at noon."]
    )

    assert similarity(question, related) > similarity(question, unrelated) + 0.2


def test_the_version_names_the_model(embedding: EmbeddingPort) -> None:
    assert embedding.version.partition("/")[2]


def test_meaning_counts_without_a_word_in_common() -> None:
    embedding = load_minilm()
    question = embedding.embed_query("my car will not start")
    related, unrelated = embedding.embed_passages(
        ["The automobile engine fails to turn over.", "We will paint it red."]
    )

    assert similarity(question, related) > similarity(question, unrelated) + 0.1


def test_text_beyond_the_models_window_changes_nothing() -> None:
    embedding = load_minilm()
    opening = "key rotation policy " * 100

    assert embedding.embed_query(opening) == embedding.embed_query(opening + "and something else entirely")

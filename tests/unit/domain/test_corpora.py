"""What strangers may name: corpora and readers."""

import pytest
from equerry.domain.conversations import derive_title
from equerry.domain.corpora import derive_document_id, parse_corpus_id, parse_reader_keys
from equerry.domain.pipeline import EMBEDDING_GENERATION, PIPELINE_VERSION
from equerry.kernel.errors import InvalidInput
from equerry.kernel.identifiers import CorpusId, OrganisationId


@pytest.mark.parametrize("text", ["a", "handbook", "hr-2026", "0", "a" * 63])
def test_a_corpus_id_is_kept(text: str) -> None:
    assert parse_corpus_id(text) == text


@pytest.mark.parametrize("text", ["", "-a", "A", "a_b", "a/b", "a" * 64, "ä", "a\n", "../a"])
def test_anything_else_is_no_corpus_id(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_corpus_id(text)

    assert refused.value.field == "corpusId"


def test_reader_keys_are_sorted_and_named_once() -> None:
    keys = ("user:ben@example.org", "organisation", "project:apollo", "organisation")

    assert parse_reader_keys(keys) == ("organisation", "project:apollo", "user:ben@example.org")


@pytest.mark.req("F-RPERM-05")
def test_nobody_is_not_everybody() -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        parse_reader_keys(())


@pytest.mark.parametrize(
    "key", ["", "everyone", "user:", "user:a b", "project:a,b", "role:admin", "organisation:x"]
)
def test_a_reader_key_of_another_form_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput, match="reader key"):
        parse_reader_keys(("organisation", key))


def test_a_path_has_one_identity_in_its_corpus_and_another_elsewhere() -> None:
    acme, rival = OrganisationId("acme"), OrganisationId("rival")
    identities = {
        derive_document_id(acme, CorpusId("a"), "x.md"),
        derive_document_id(acme, CorpusId("a"), "x.md"),
        derive_document_id(acme, CorpusId("b"), "x.md"),
        derive_document_id(rival, CorpusId("a"), "x.md"),
        derive_document_id(acme, CorpusId("a"), "y.md"),
    }

    assert len(identities) == 4


def test_a_title_is_the_questions_beginning_on_one_line() -> None:
    assert derive_title("How do I\n rotate a key?") == "How do I rotate a key?"
    assert len(derive_title("word " * 100)) <= 80


def test_the_pipeline_version_moves_with_the_embedding_model() -> None:
    """Whoever changes the model raises the generation, and every document becomes stale."""
    from equerry.adapters.embedded.minilm import VERSION

    assert (VERSION, EMBEDDING_GENERATION) == ("minilm-l6-v2-int8/1", 1)
    assert PIPELINE_VERSION == "text-1/structure-1/vectors-1"

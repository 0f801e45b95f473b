"""Retrieval: both indexes fused under one scope, and words alone when the model is away."""

from dataclasses import dataclass, field, replace

import pytest
from equerry.domain.corpora import CorpusSummary
from equerry.domain.principal import Scope
from equerry.domain.retrieval import Retrieval
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import CorpusId
from equerry.services.retrieval import RetrievalService

from tests.contract.corpora import HANDBOOK, PIPELINE, build_file, build_publication
from tests.contract.databases import build_scope
from tests.fakes.documents import (
    MemoryCorpora,
    MemoryDocumentAdapter,
    MemoryLexicalIndexAdapter,
    MemoryVectorStoreAdapter,
)
from tests.fakes.embedding import MemoryEmbeddingAdapter

ADMIN = build_scope("acme", "root", role="admin")
ADA = build_scope("acme", "ada")


@dataclass
class Desk:
    store: MemoryCorpora = field(default_factory=MemoryCorpora)
    embedding: MemoryEmbeddingAdapter = field(default_factory=MemoryEmbeddingAdapter)

    @property
    def service(self) -> RetrievalService:
        return RetrievalService(
            documents=MemoryDocumentAdapter(self.store),
            vectors=MemoryVectorStoreAdapter(self.store),
            words=MemoryLexicalIndexAdapter(self.store),
            embedding=self.embedding,
        )

    def publish(
        self,
        path: str,
        *lines: str,
        corpus: CorpusId = HANDBOOK,
        scope: Scope = ADMIN,
        visible_to: tuple[str, ...] = ("organisation",),
    ) -> None:
        content = "\n".join(lines)
        documents = MemoryDocumentAdapter(self.store)
        file = build_file(path, content, visible_to=visible_to)
        (announced,) = documents.announce(scope, corpus, [file], pipeline_version=PIPELINE)
        publication = replace(
            build_publication(announced.document_id, content),
            vectors=self.embedding.embed_passages(lines),
            embedding_version=self.embedding.version,
        )
        assert documents.publish(scope.organisation_id, publication)

    def search(self, query: str, *, scope: Scope = ADA, limit: int = 5) -> Retrieval:
        return self.service.search(scope, query, corpora=None, limit=limit)


def texts(found: Retrieval) -> list[str]:
    return [passage.text for passage in found.passages]


def test_the_passage_that_answers_comes_first_and_once() -> None:
    desk = Desk()
    desk.publish("a.md", "rotate the signing key yearly", "the canteen opens at noon", "the key is red")

    found = desk.search("how often rotate the signing key")

    assert texts(found)[0] == "rotate the signing key yearly"
    assert len(texts(found)) == len(set(texts(found)))
    assert found.by_meaning
    assert found.searched == (HANDBOOK,)


def test_when_the_model_is_away_words_alone_decide_and_the_result_says_so() -> None:
    desk = Desk()
    desk.publish("a.md", "rotate the signing key yearly", "the canteen opens at noon")
    desk.embedding.is_down = True

    found = desk.search("signing key")

    assert texts(found) == ["rotate the signing key yearly"]
    assert not found.by_meaning


def test_a_question_about_nothing_in_the_documents_finds_nothing() -> None:
    desk = Desk()
    desk.publish("a.md", "rotate the signing key yearly")

    assert texts(desk.search("zebra quagga okapi")) == []


def test_a_copy_in_another_document_is_returned_once() -> None:
    desk = Desk()
    desk.publish("a.md", "rotate the signing key")
    desk.publish("b.md", "rotate the signing key")

    assert texts(desk.search("signing key")) == ["rotate the signing key"]


def test_the_limit_holds() -> None:
    desk = Desk()
    desk.publish("a.md", *(f"key number {number}" for number in range(20)))

    assert len(desk.search("key number", limit=3).passages) == 3


class Unlisted(MemoryDocumentAdapter):
    """Documents whose corpora nobody can list."""

    def list_corpora(self, scope: Scope) -> tuple[CorpusSummary, ...]:
        raise Unavailable(f"nobody lists the corpora of {scope.organisation_id}")


def test_what_may_be_read_is_listed_only_when_nothing_was_found() -> None:
    desk = Desk()
    desk.publish("a.md", "rotate the signing key")
    service = replace(desk.service, documents=Unlisted(desk.store))

    assert texts(service.search(ADA, "signing key", corpora=None, limit=5)) == ["rotate the signing key"]
    assert service.lookup(ADA, "signing", corpora=(HANDBOOK,), limit=5).searched == (HANDBOOK,)
    with pytest.raises(Unavailable):
        service.lookup(ADA, "zebra", corpora=None, limit=5)


@pytest.mark.req("F-CORP-03", "F-RPERM-09")
def test_only_readable_corpora_are_searched_even_when_others_are_named() -> None:
    desk = Desk()
    desk.publish("a.md", "key for all")
    desk.publish("a.md", "key of zeus", corpus=CorpusId("zeus"), visible_to=("project:zeus",))
    insider = build_scope("acme", "ben", projects=("zeus",))

    assert desk.search("key").searched == (HANDBOOK,)
    assert desk.search("key", scope=insider).searched == (HANDBOOK, "zeus")
    named = desk.service.search(ADA, "key", corpora=(CorpusId("zeus"), CorpusId("nowhere")), limit=5)
    assert (texts(named), named.searched) == ([], ())
    assert texts(desk.service.search(insider, "key", corpora=(CorpusId("zeus"),), limit=5)) == ["key of zeus"]


def test_another_organisation_learns_nothing() -> None:
    desk = Desk()
    desk.publish("a.md", "rotate the signing key")

    found = desk.search("signing key", scope=build_scope("rival", "ada"))

    assert replace(found, decision=None) == Retrieval(passages=(), searched=())
    assert found.decision is not None
    assert (found.decision.semantic_candidates, found.decision.lexical_candidates) == (0, 0)


@pytest.mark.req("F-RET-02")
def test_looking_up_a_term_puts_passages_that_hold_it_to_the_letter_first() -> None:
    desk = Desk()
    desk.publish("a.md", "connections max out at noon", "set max_connections = 100", "connections at max")

    found = desk.service.lookup(ADA, "max_connections", corpora=None, limit=5)

    assert texts(found)[0] == "set max_connections = 100"
    desk.embedding.is_down = True
    assert desk.service.lookup(ADA, "max_connections", corpora=None, limit=5) == found

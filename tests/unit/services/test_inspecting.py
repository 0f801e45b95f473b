"""A turn that searched and cited, seen afterwards from both sides."""

import re
from functools import partial

import pytest
from equerry.adapters.fixture.script import ScriptedRound, call, say
from equerry.domain.evidence import Evidence
from equerry.domain.inspection import inspect_run
from equerry.domain.principal import Scope
from equerry.domain.profiles import Profile
from equerry.domain.retrieval import Retrieval
from equerry.engine.model import ModelRequest
from equerry.engine.tool import Tool
from equerry.packs.docs.passages import PassageFinder
from equerry.packs.docs.search import SearchDocsTool
from equerry.services.retrieval import RetrievalService

from tests.contract.corpora import EMBEDDING
from tests.fakes.documents import (
    MemoryCorpora,
    MemoryDocumentAdapter,
    MemoryLexicalIndexAdapter,
    MemoryVectorStoreAdapter,
)
from tests.fakes.embedding import MemoryEmbeddingAdapter
from tests.unit.services.library import HELP, publish_help
from tests.unit.services.world import ADA, World

SECTIONS = {"Keys": "Keys hang by the door.", "Doors": "The door closes at nine."}


def search_then_cite(request: ModelRequest) -> ScriptedRound:
    found = re.search(r"\bp[0-9a-f]{8}\b", str(request.thread.messages[-1]))
    if found is None:
        return call("search_docs", query="Where are the keys?")
    return say(f"By the door.[[{found[0]}|Keys hang]]")


def build_tools(
    service: RetrievalService, _profile: Profile, scope: Scope, evidence: Evidence, nonce: str
) -> tuple[Tool, ...]:
    def search(query: str, limit: int) -> Retrieval:
        return service.search(scope, query, corpora=(HELP,), limit=limit)

    return (SearchDocsTool(PassageFinder(search=search, evidence=evidence, nonce=nonce)),)


@pytest.mark.req("P-TRACE-02", "P-TRACE-04")
def test_what_a_search_tool_returned_is_grounding_and_what_was_cited_is_told_apart() -> None:
    library = MemoryCorpora()
    document = publish_help(
        MemoryDocumentAdapter(library), "keys.md", "Keys", SECTIONS, organisation=ADA.organisation_id
    )
    service = RetrievalService(
        documents=MemoryDocumentAdapter(library),
        vectors=MemoryVectorStoreAdapter(library),
        words=MemoryLexicalIndexAdapter(library),
        embedding=MemoryEmbeddingAdapter(version=EMBEDDING),
    )
    world = World(script=search_then_cite, build_tools=partial(build_tools, service))
    accepted = world.submit(world.open_conversation(), "Where are the keys?")
    world.deliver(accepted)

    record = world.explaining.fetch_record(ADA, accepted.run_id)
    found = inspect_run(record)

    assert [(item.source, item.document_id, item.corpus_id, item.version) for item in found.grounding] == [
        ("search_docs", document, HELP, 1)
    ] * 2
    assert [item.cited for item in found.grounding] == [True, False]
    assert all(item.score is not None and item.retrieved_at is not None for item in found.grounding)
    assert [(tool.name, tool.state, tool.calls) for tool in found.tools] == [("search_docs", "offered", 1)]
    assert (found.corpora, found.searched) == (None, (HELP,))
    assert not any(text in str(record.outcome) + str(found) for text in SECTIONS.values())

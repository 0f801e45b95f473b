"""The documents pack: two tools, told apart by what they are for."""

import pytest
from equerry.domain.corpora import Passage
from equerry.domain.evidence import Evidence
from equerry.domain.fencing import unfence
from equerry.domain.passage_format import parse_passages
from equerry.domain.retrieval import Retrieval
from equerry.engine.tool import Tool
from equerry.kernel.errors import EquerryError, Unavailable
from equerry.kernel.identifiers import CorpusId, DocumentId, PassageId, RunId
from equerry.packs.docs.lookup import LookupDocsTool
from equerry.packs.docs.passages import PassageFinder
from equerry.packs.docs.search import SearchDocsTool

NONCE = "0123456789abcdefABCDEF"


def passage(identity: str, text: str = "Leases lapse.") -> Passage:
    return Passage(
        passage_id=PassageId(identity),
        document_id=DocumentId("d"),
        corpus_id=CorpusId("c"),
        title="Leases",
        heading_path=("Workers",),
        text=text,
        source_path="a.md",
        version=1,
        token_count=3,
    )


class Desk:
    """A turn's tools over passages that are always found; keeps what was asked."""

    def __init__(self, *found: Passage) -> None:
        self.asked: list[str] = []
        self.evidence = Evidence(RunId("run"))
        self.found = Retrieval(passages=found, searched=(CorpusId("handbook"),))
        self.failure: EquerryError | None = None
        finder = PassageFinder(search=self._search, evidence=self.evidence, nonce=NONCE)
        self.search: Tool = SearchDocsTool(finder)
        self.lookup: Tool = LookupDocsTool(finder)

    def _search(self, query: str, limit: int) -> Retrieval:
        self.asked.append(query)
        if self.failure:
            raise self.failure
        return self.found


def test_passages_come_fenced_and_under_handles_that_this_run_can_cite() -> None:
    desk = Desk(passage("p1"), passage("p2", "Workers renew them."))

    outcome = desk.search.run({"query": "  When do leases lapse? "})

    assert (outcome.ok, outcome.summary, desk.asked) == (
        True,
        "Read 2 passages in 1 document",
        ["When do leases lapse?"],
    )
    rendered = parse_passages(unfence(outcome.content, NONCE))
    assert [entry.text for entry in rendered] == ["Leases lapse.", "Workers renew them."]
    assert [desk.evidence.find_passage(entry.handle) for entry in rendered] == [
        passage("p1"),
        passage("p2", "Workers renew them."),
    ]


@pytest.mark.req("F-RPERM-06")
def test_nothing_found_is_said_in_the_same_words_whatever_the_reason() -> None:
    desk = Desk()

    assert desk.search.run({"query": "x"}) == desk.lookup.run({"term": "y"})
    assert desk.search.run({"query": "x"}).ok


@pytest.mark.req("F-RTOOL-03")
def test_an_empty_result_says_what_was_searched() -> None:
    desk = Desk()
    named = desk.search.run({"query": "x"})
    desk.found = Retrieval(passages=(), searched=())

    assert (named.ok, named.summary) == (True, "Found nothing")
    assert "No passages were found in handbook." in named.content
    assert "in the documents this person may read" in desk.search.run({"query": "x"}).content


def test_a_search_that_fails_is_told_to_the_model_and_does_not_end_the_run() -> None:
    desk = Desk(passage("p1"))
    desk.failure = Unavailable("the database did not complete the request; try again")

    outcome = desk.search.run({"query": "x"})

    assert (outcome.ok, outcome.failure) == (False, "failed")
    assert desk.evidence.passage_ids == ()


def test_a_search_without_its_meaning_index_says_so() -> None:
    desk = Desk(passage("p1"))
    desk.found = Retrieval(passages=(passage("p1"),), searched=(CorpusId("handbook"),), by_meaning=False)

    outcome = desk.search.run({"query": "x"})

    assert outcome.content.startswith("Searched by words alone")
    assert len(parse_passages(unfence(outcome.content, NONCE))) == 1


@pytest.mark.parametrize(
    "arguments", [{}, {"query": ""}, {"query": " "}, {"query": 3}, {"query": "x" * 1_001}]
)
def test_arguments_that_do_not_fit_are_answered_to_the_model(arguments: dict[str, object]) -> None:
    desk = Desk(passage("p1"))

    outcome = desk.search.run(arguments)

    assert not outcome.ok
    assert "'query' must be" in outcome.content
    assert desk.asked == []


@pytest.mark.req("F-RET-02", "F-RET-03")
def test_two_query_shapes_are_two_tools_whose_descriptions_point_at_each_other() -> None:
    desk = Desk()

    assert "lookup_docs" in desk.search.spec.description
    assert "search_docs" in desk.lookup.spec.description
    assert desk.search.spec.input_schema["required"] == ["query"]
    assert desk.lookup.spec.input_schema["required"] == ["term"]


def test_a_passage_found_twice_keeps_its_handle() -> None:
    desk = Desk(passage("p1"))

    assert desk.search.run({"query": "a"}).content == desk.lookup.run({"term": "b"}).content

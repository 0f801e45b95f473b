"""The responder as the whole turn uses it: composed thread, run loop, tool, verified citations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

import pytest
from equerry.adapters.embedded.extractive import ExtractiveModelAdapter
from equerry.domain.citations import CitationFilter
from equerry.domain.composition import compose_thread
from equerry.domain.conversations import TranscriptMessage
from equerry.domain.corpora import Passage
from equerry.domain.evidence import Evidence
from equerry.domain.fencing import fence
from equerry.domain.passage_format import render_passages
from equerry.engine.assistant import Assistant
from equerry.engine.model import Prompt, ToolSpec
from equerry.engine.run_loop import RunLoop, RunOutcome
from equerry.engine.tool import ToolEffect, ToolOutcome
from equerry.kernel.identifiers import MessageId, RunId
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.models.clock import ScriptedClock
from tests.contract.models.requests import SEARCH, passage

NONCE = "9f3c2b7e5a1d4c60"
SNIPPETS = st.sampled_from(
    [
        "Widgets are painted in the background, e.g. by a worker. ",
        "A widget is\npainted again after each change! ",
        "- Paint the widget `now`\n  and then wait for it.\n",
        "1. Widgets of __init__ take *args when they are painted.\n\n",
        "```\nWidgets in code are painted never.\n```\n",
        "Painted widgets [see 3] cost ½ of the others. ",
        "\n\nWidgets ⟦1⟧ are painted [[p000001|forged]] here. ",
        "    widgets.paint()\n",
        "“Widgets” (painted ones) can’t be ﬁxed. ",
    ]
)


@dataclass(slots=True)
class Search:
    """A search that always finds the same."""

    evidence: Evidence
    passages: tuple[Passage, ...]
    queries: list[object] = field(default_factory=list)

    @property
    def spec(self) -> ToolSpec:
        return SEARCH

    @property
    def label(self) -> str:
        return "Searching the documents"

    @property
    def effect(self) -> ToolEffect:
        return "read"

    def run(self, arguments: Mapping[str, object]) -> ToolOutcome:
        self.queries.append(arguments["query"])
        content = render_passages(self.evidence.admit(self.passages)) or "Nothing was found."
        return ToolOutcome(content=fence(content, kind="tool_result", nonce=NONCE))


def said(role: Literal["user", "assistant"], text: str) -> TranscriptMessage:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return TranscriptMessage(
        message_id=MessageId("m"), role=role, text=text, run_id=RunId("r"), created_at=at
    )


def answer(*history: TranscriptMessage, text: str) -> tuple[RunOutcome, CitationFilter, str, Search]:
    citations = CitationFilter(Evidence(RunId("run")))
    search = Search(citations.evidence, (passage(text)[1],))
    loop = RunLoop(stream_round=ExtractiveModelAdapter(clock=ScriptedClock()).stream, clock=ScriptedClock())
    assistant = Assistant(prompt=Prompt(stable="Answer."), tools=(search,))
    outcome = loop.run(assistant, compose_thread(history, nonce=NONCE))
    return outcome, citations, citations.feed(outcome.text) + citations.finish(), search


def test_a_turn_searches_once_and_answers_with_verified_citations() -> None:
    outcome, citations, shown, search = answer(
        said("user", "How are widgets painted?"), text="Widgets are painted by the renderer in turn."
    )

    assert (outcome.stop, outcome.rounds, search.queries) == ("end_turn", 2, ["How are widgets painted?"])
    assert shown == "Widgets are painted by the renderer in turn.⟦1⟧"
    assert citations.refs[0].quote == "Widgets are painted by the renderer in turn."


def test_a_follow_up_in_a_conversation_is_understood_from_the_turn_before() -> None:
    _, _, shown, search = answer(
        said("user", "How are widgets painted?"),
        said("assistant", "By the renderer.⟦1⟧"),
        said("user", "and in Python 3?"),
        text="In Python 3 all widgets are painted by a worker.",
    )

    assert search.queries == ["How are widgets painted? and in Python 3?"]
    assert "worker" in shown


def test_an_abstention_carries_no_citation() -> None:
    _, citations, shown, _ = answer(said("user", "What is your refund policy?"), text="Widgets are painted.")

    assert shown == "I found nothing about that in the documents you can read."
    assert citations.refs == []


@pytest.mark.req("F-CITE-03")
@given(st.lists(SNIPPETS, min_size=1, max_size=12).map("".join))
def test_every_sentence_is_cited_and_every_citation_holds_whatever_the_passage_is_like(text: str) -> None:
    outcome, citations, shown, _ = answer(said("user", "How are widgets painted?"), text=text)

    assert citations.removed == 0
    assert "[[" not in shown
    assert shown.count("⟦") == outcome.text.count("[[p")
    assert "found nothing" in shown or shown.endswith("⟧")

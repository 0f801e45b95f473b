"""The extractive responder as the run loop sees it."""

import re

import pytest
from equerry.adapters.embedded.extractive import ExtractiveModelAdapter
from equerry.domain.corpora import Passage
from equerry.domain.fencing import fence
from equerry.engine.messages import TextBlock, ToolResultBlock
from equerry.engine.model import ModelEvent, ModelRequest, TextDelta, ToolCallReady, ToolSpec
from equerry.engine.thread import Thread
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.text import normalise_text

from tests.contract.models.clock import ScriptedClock
from tests.contract.models.requests import SEARCH, ask, collect, end_of, found, passage, resolve, text_of

NONCE = "9f3c2b7e5a1d4c60"
PAINTING = passage(
    "Widgets are painted by the renderer. The renderer runs on its own thread.\n\nPaint is cheap.",
    headings=("Painting",),
)


def responder(*, clock: ScriptedClock | None = None, word_delay_s: float = 0.0) -> ExtractiveModelAdapter:
    return ExtractiveModelAdapter(clock=clock or ScriptedClock(), word_delay_s=word_delay_s)


def searched(question: str, *passages: tuple[str, Passage], thread: Thread | None = None) -> list[ModelEvent]:
    request = ask(question, thread=thread)
    return collect(responder(), resolve(request, collect(responder(), request), found(*passages)))


def query_of(request: ModelRequest) -> object:
    (call,) = [event.call for event in collect(responder(), request) if isinstance(event, ToolCallReady)]
    return call.arguments["query"]


def test_the_first_round_searches_with_the_persons_question() -> None:
    events = collect(responder(), ask(fence("How are widgets painted?", kind="user", nonce=NONCE)))

    assert [type(event).__name__ for event in events] == ["ToolCallReady", "RoundEnd"]
    assert query_of(ask("How are widgets painted?")) == "How are widgets painted?"
    assert end_of(events).stop == "tool_use"


def test_only_the_persons_words_are_searched_for_not_what_the_composer_put_around_them() -> None:
    context = fence("The page shows invoices.", kind="ui_context", nonce=NONCE)
    question = fence("How are widgets painted?", kind="user", nonce=NONCE)

    assert query_of(ask(f"{question}\n{context}")) == "How are widgets painted?"
    assert query_of(ask(context, thread=Thread().say(question))) == "How are widgets painted?"


def test_the_answer_is_verbatim_sentences_each_bound_to_its_passage() -> None:
    answer = text_of(searched("How are widgets painted?", PAINTING))

    cited = re.findall(r"([^\[\]]+)\[\[(\w+)\|([^\]]+)\]\]", answer)
    assert cited
    for claim, handle, quote in cited:
        assert handle == "p000001"
        assert claim.strip() == quote
        assert quote in normalise_text(PAINTING[1].text)
    assert re.sub(r"\[\[.*?\]\]", "", answer).startswith("Widgets are painted by the renderer.")


def test_it_abstains_when_the_passages_are_about_something_else() -> None:
    events = searched("What is the capital of France?", PAINTING)

    assert text_of(events) == "I found nothing about that in the documents you can read."
    assert end_of(events).stop == "end_turn"


def test_it_abstains_when_nothing_was_found() -> None:
    assert "found nothing" in text_of(searched("How are widgets painted?"))


def test_it_abstains_when_the_search_failed() -> None:
    request = ask()

    events = collect(
        responder(), resolve(request, collect(responder(), request), "The search failed.", ok=False)
    )

    assert "found nothing" in text_of(events)


@pytest.mark.parametrize("tools_allowed", [True, False])
def test_without_a_search_it_says_that_it_cannot_answer(tools_allowed: bool) -> None:  # pytest's
    request = ask(tools=(SEARCH,) if not tools_allowed else (), tools_allowed=tools_allowed)

    events = collect(responder(), request)

    assert text_of(events).startswith("I can only answer out of documents")
    assert end_of(events).stop == "end_turn"


def test_another_tool_that_needs_only_a_query_will_do() -> None:
    other = ToolSpec(name="find", description="Find.", input_schema=SEARCH.input_schema)
    unfit = ToolSpec(name="write", description="Write.", input_schema={"type": "object", "properties": {}})

    (call,) = [
        event.call
        for event in collect(responder(), ask(tools=(unfit, other)))
        if isinstance(event, ToolCallReady)
    ]

    assert call.tool == "find"


def test_a_question_after_an_answered_one_is_searched_for_again() -> None:
    first = ask("How are widgets painted?")
    second = resolve(first, collect(responder(), first), found(PAINTING))
    thread = second.thread.answer(TextBlock("By the renderer."))

    assert query_of(ask("Where do gadgets live?", thread=thread)) == "Where do gadgets live?"


def test_a_short_follow_up_borrows_the_words_of_the_question_before() -> None:
    thread = Thread().say("How are widgets painted?").answer(TextBlock("By the renderer."))

    assert query_of(ask("and in red?", thread=thread)) == "How are widgets painted? and in red?"
    assert query_of(ask("What is a gadget?", thread=thread)) == "What is a gadget?"


def test_passages_are_read_inside_their_fence_and_over_several_searches() -> None:
    call = collect(responder(), ask())[0]
    assert isinstance(call, ToolCallReady)
    fenced = fence(found(PAINTING), kind="tool_result", nonce=NONCE)
    again = ToolResultBlock(
        call_id=ToolCallId("again"), content=fence("nothing", kind="tool_result", nonce=NONCE)
    )
    thread = (
        ask().thread.answer(call.call).resolve(ToolResultBlock(call_id=call.call.call_id, content=fenced))
    )
    thread = thread.answer(
        type(call.call)(call_id=again.call_id, tool="search_docs", arguments={"query": "x"})
    ).resolve(again)

    assert "renderer" in text_of(collect(responder(), ask("", thread=thread)))


def test_it_streams_word_by_word_at_the_configured_pace_and_a_citation_in_one_piece() -> None:
    clock = ScriptedClock()
    request = ask()
    answered = resolve(request, collect(responder(), request), found(PAINTING))

    deltas = [
        event.text
        for event in responder(clock=clock, word_delay_s=0.02).stream(answered)
        if isinstance(event, TextDelta)
    ]

    assert deltas[:2] == ["Widgets", " are"]
    assert any(delta.startswith("[[p000001|") and delta.endswith("]]") for delta in deltas)
    assert clock.slept == [0.02] * len(deltas)


def test_the_output_allowance_is_kept() -> None:
    request = ask(max_output_tokens=4)
    answered = resolve(request, collect(responder(), request), found(PAINTING))

    events = collect(responder(), answered)

    assert text_of(events) == "Widgets are painted"
    assert end_of(events).stop == "max_tokens"


def test_names_in_a_quoted_sentence_survive_markdown() -> None:
    dunder = passage("The method __init__ receives *args and paints each widget in turn.")

    answer = text_of(searched("Which method paints a widget?", dunder))

    assert answer.startswith(r"The method \_\_init\_\_ receives \*args and paints each widget in turn.")
    assert "|The method __init__ receives *args" in answer


def test_usage_grows_with_what_was_read() -> None:
    short = end_of(searched("How are widgets painted?", PAINTING)).usage
    long = end_of(
        searched("How are widgets painted?", PAINTING, passage("More. " * 90, handle="p000002"))
    ).usage

    assert 0 < short.input_tokens < long.input_tokens
    assert short.output_tokens > 0

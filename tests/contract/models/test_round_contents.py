"""Every adapter against its strict server: what a round may carry, there and back, is legal and whole."""

import base64
import traceback

import pytest
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.adapters.rounds.reading import UNUSABLE_ARGUMENTS
from equerry.engine.messages import DocumentBlock, ImageBlock, Message, OpaqueBlock, TextBlock
from equerry.engine.model import (
    ModelEvent,
    ModelRequest,
    OpaqueState,
    ReasoningLevel,
    ThinkingDelta,
    ToolCallReady,
)
from equerry.engine.thread import Thread
from equerry.kernel.usage import Usage
from equerry.ports.model import (
    InputUnsupported,
)

from tests.contract.models.requests import PNG, SEARCH, arguments_of, ask, collect, end_of, resolve, text_of
from tests.contract.models.subjects import Kit
from tests.strict.server import StrictServer


def next_round(request: ModelRequest, events: list[ModelEvent], content: str) -> ModelRequest:
    """As the loop would go on, the provider's own state kept in its place."""
    blocks = [
        event.block if isinstance(event, OpaqueState) else event.call
        for event in events
        if isinstance(event, OpaqueState | ToolCallReady)
    ]
    results = resolve(request, events, content).thread.messages[-1]
    return ask("", thread=Thread((*request.thread.answer(*blocks).messages, results)))


@pytest.mark.parametrize("fault", ["cut_off", "whole_but_cut_off"])
@pytest.mark.req("F-GATE-03")
def test_a_tool_call_of_a_truncated_round_is_never_handed_over(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter, fault: str
) -> None:
    server.play(getattr(kit, fault))

    events = collect(model, ask())

    assert arguments_of(events) == []
    assert (text_of(events), end_of(events).stop) == ("Let me look.", "max_tokens")


@pytest.mark.req("F-GATE-03")
def test_a_tool_call_with_unusable_arguments_is_handed_over_with_its_problem(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(kit.unusable)

    events = collect(model, ask())

    (ready,) = [event for event in events if isinstance(event, ToolCallReady)]
    assert (ready.call.arguments, ready.call.problem) == ({}, UNUSABLE_ARGUMENTS)
    assert end_of(events).stop == "tool_use"


@pytest.mark.req("F-GATE-03")
def test_a_tool_call_of_a_filtered_round_is_never_handed_over(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(kit.filtered)

    events = collect(model, ask())

    assert arguments_of(events) == []
    assert end_of(events).stop in ("filtered", "refusal")


@pytest.mark.req("F-GATE-05")
def test_the_same_round_costs_the_same_whoever_counts(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(kit.call)

    usage = end_of(collect(model, ask())).usage

    assert usage == Usage(
        input_tokens=331,
        output_tokens=42,
        cached_input_tokens=300,
        cache_write_tokens=20 if kit.counts_cache_writes else 0,
        reasoning_tokens=usage.reasoning_tokens,
    )
    assert usage.reasoning_tokens in (0, 7)


def test_thoughts_are_shown_apart_and_sent_back_as_they_came(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(kit.call, kit.answer)
    request = ask()

    events = collect(model, request)
    answered = collect(model, next_round(request, events, "Widgets are painted."))

    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["Let me see."]
    assert text_of(events) == ""
    assert len([event for event in events if isinstance(event, OpaqueState)]) == 1
    assert text_of(answered) == "Widgets are painted."
    assert server.violations == []


def test_a_message_of_another_providers_thoughts_alone_leaves_the_thread_legal(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(kit.answer)
    foreign = OpaqueBlock(provider="another", payload="{}")
    thread = Thread().say("Hello").answer(foreign).say("Are you there?")

    collect(model, ask(thread=thread))

    assert server.violations == []


@pytest.mark.parametrize("reasoning", [None, "medium"])
def test_one_tool_can_be_forced_with_and_without_reasoning(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter, reasoning: ReasoningLevel | None
) -> None:
    server.play(kit.forced)

    events = collect(model, ask(forced_tool=SEARCH.name, reasoning=reasoning))

    assert arguments_of(events) == [{"query": "widgets"}]
    assert server.violations == []


def test_a_level_of_reasoning_is_legal(kit: Kit, server: StrictServer, model: DrivenModelAdapter) -> None:
    server.play(kit.answer)

    collect(model, ask(reasoning="high"))

    assert server.violations == []


def test_pictures_stand_before_the_words_they_belong_to(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(kit.answer)
    picture = ImageBlock(media_type="image/png", content=PNG)
    said = (TextBlock("Image 1: a widget"), picture, TextBlock("What is this?"))

    collect(model, ask("", thread=Thread((Message("user", said),))))

    assert server.violations == []
    sent = str(server.requests[0])
    places = [sent.index(part) for part in ("Image 1", base64.b64encode(PNG).decode(), "What is")]
    assert places == sorted(places)


def test_a_document_is_read_or_refused_before_anything_is_sent(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(kit.answer)
    document = DocumentBlock(url="https://bucket.test/plan.pdf?X-Amz-Signature=s3cret", title="Plan")
    request = ask("", thread=Thread((Message("user", (document, TextBlock("What is this?"))),)))

    if kit.reads_documents:
        collect(model, request)
        assert server.violations == []
        return
    with pytest.raises(InputUnsupported) as caught:
        collect(model, request)
    assert caught.value.code == "documents_unsupported"
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))
    assert server.requests == []


def test_results_come_first_in_their_message_whatever_was_said_with_them(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(kit.call, kit.answer)
    request = ask()
    answered = next_round(request, collect(model, request), "Nothing.")
    (*before, results) = answered.thread.messages
    mixed = Message("user", (TextBlock("Hurry."), *results.blocks))

    collect(model, ask("", thread=Thread((*before, mixed))))

    assert server.violations == []

"""What every ModelPort keeps, run over the fixture, the extractive responder and every provider."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from equerry.engine.messages import OpaqueBlock, TextBlock
from equerry.engine.model import ModelEvent, RoundEnd, TextDelta, ToolCallReady
from equerry.engine.thread import Thread
from equerry.ports.model import ModelRejected, ModelUnavailable

from tests.contract.models.codex import codex_subject
from tests.contract.models.requests import (
    SEARCH,
    ask,
    collect,
    end_of,
    found,
    news,
    passage,
    resolve,
    text_of,
)
from tests.contract.models.subjects import (
    KITS,
    Subject,
    build_subject,
    extractive_subject,
    fixture_subject,
)

FOUND = found(passage("Widgets are painted by the renderer in the background.", headings=("Painting",)))
QUESTION = "How are widgets painted?"


Build = Callable[[], AbstractContextManager[Subject]]
PROVIDERS = [pytest.param(build_subject(kit), id=kit.name) for kit in KITS]


@pytest.fixture(
    params=[
        pytest.param(fixture_subject, id="fixture"),
        pytest.param(extractive_subject, id="extractive"),
        pytest.param(codex_subject, id="codex"),
        *PROVIDERS,
    ]
)
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    build: Build = request.param
    with build() as made:
        yield made


@pytest.fixture(params=[pytest.param(fixture_subject, id="fixture"), *PROVIDERS])
def fallible(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Those with a provider that can fail."""
    build: Build = request.param
    with build() as made:
        yield made


def search_and_answer(subject: Subject) -> tuple[list[ModelEvent], list[ModelEvent]]:
    subject.play("search", "answer")
    request = ask(QUESTION)
    first = collect(subject.model, request)
    return first, collect(subject.model, resolve(request, first, FOUND))


def ends(events: list[ModelEvent]) -> list[int]:
    return [index for index, event in enumerate(events) if isinstance(event, RoundEnd)]


def test_a_round_ends_once_and_last(subject: Subject) -> None:
    first, second = search_and_answer(subject)

    assert ends(first) == [len(first) - 1]
    assert ends(second) == [len(second) - 1]


def test_a_tool_call_arrives_whole_and_is_for_a_tool_that_was_offered(subject: Subject) -> None:
    first, _ = search_and_answer(subject)

    (ready,) = [event for event in first if isinstance(event, ToolCallReady)]
    assert ready.call.tool == SEARCH.name
    assert isinstance(ready.call.arguments["query"], str)
    assert ready.call.call_id
    assert end_of(first).stop == "tool_use"


def test_an_answer_streams_in_pieces_that_are_never_empty(subject: Subject) -> None:
    _, second = search_and_answer(subject)

    deltas = [event.text for event in second if isinstance(event, TextDelta)]
    assert (len(deltas) > 1) is subject.in_pieces
    assert all(deltas)
    assert text_of(second).startswith("Widgets are painted")
    assert end_of(second).stop == "end_turn"


def test_what_was_spent_is_reported(subject: Subject) -> None:
    for events in search_and_answer(subject):
        usage = end_of(events).usage
        assert usage.input_tokens > 0
        assert usage.output_tokens > 0


def test_no_tool_is_called_where_none_may_be(subject: Subject) -> None:
    subject.play("answer")

    events = collect(subject.model, ask(QUESTION, tools_allowed=False))

    assert not [event for event in events if isinstance(event, ToolCallReady)]
    assert end_of(events).stop == "end_turn"


def test_a_conversation_with_a_past_and_another_providers_state_is_accepted(subject: Subject) -> None:
    subject.play("answer")
    foreign = OpaqueBlock(provider="another", payload="{}")
    thread = Thread().say("Hello").answer(foreign, TextBlock("Hello yourself.")).say("And?").answer(foreign)

    events = collect(subject.model, ask(QUESTION, thread=thread))

    assert end_of(events).stop in ("end_turn", "tool_use")


def test_closing_early_ends_the_providers_stream(subject: Subject) -> None:
    subject.play("search", "answer")
    request = ask(QUESTION)
    answered = resolve(request, collect(subject.model, request), FOUND)

    stream = subject.model.stream(answered)
    next(stream)
    stream.close()

    assert list(stream) == []
    assert subject.was_closed()


def test_the_model_names_itself(subject: Subject) -> None:
    assert subject.model.choice.provider
    assert subject.model.choice.model


def test_a_provider_that_is_not_answering_is_unavailable(fallible: Subject) -> None:
    fallible.play("unavailable")

    with pytest.raises(ModelUnavailable):
        collect(fallible.model, ask(QUESTION))


def test_a_request_that_the_provider_refuses_is_rejected(fallible: Subject) -> None:
    fallible.play("rejected")

    with pytest.raises(ModelRejected):
        collect(fallible.model, ask(QUESTION))


def test_what_was_said_before_the_stream_broke_is_kept_and_not_repeated(fallible: Subject) -> None:
    fallible.play("break off", "answer")
    said: list[ModelEvent] = []

    with pytest.raises(ModelUnavailable):
        said.extend(news(fallible.model.stream(ask(QUESTION))))

    assert len(said) == 1

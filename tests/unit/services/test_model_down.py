"""What goes on without the model that usually answers, and how that is told."""

from dataclasses import replace
from typing import Any

import pytest
from equerry.adapters.fixture.script import ScriptedRound, fail
from equerry.domain.routing import EXTRACTIVE
from equerry.engine.model import ModelChoice, ModelRequest
from equerry.ports.model import ModelUnavailable
from equerry.services.answering import STANDING_IN

from tests.fakes.profiles import MemoryProfileAdapter
from tests.unit.engine.playing import ProbeTool
from tests.unit.services.fast_world import GO, HOW, OTHER, answer_of, ask, fast_world
from tests.unit.services.world import ADA, PROFILE, World

OTHER_MODEL = ModelChoice(provider="other", model="m-2")


def break_down(_request: ModelRequest) -> ScriptedRound:
    return fail(ModelUnavailable("overloaded", cause="overloaded", attempts=4))


def down_world(**changed: Any) -> World:
    return fast_world(script=break_down, **changed)


@pytest.mark.req("F-DEGR-02", "F-DEGR-04")
def test_with_the_model_down_a_page_is_opened_and_a_section_is_quoted() -> None:
    world = down_world()

    assert "[/dashboard](/dashboard)" in answer_of(world, ask(world, GO))
    assert "Choose Import and pick a file." in answer_of(world, ask(world, HOW))
    assert world.model.requests == []


@pytest.mark.req("F-DEGR-02", "F-DEGR-04")
def test_with_the_model_down_what_was_said_before_is_read_and_a_question_ends_with_its_reason() -> None:
    world = fast_world()
    conversation = world.open_conversation()
    world.deliver(world.submit(conversation, OTHER))
    world.model = type(world.model)(world.clock, script=break_down)

    refused = world.submit(conversation, "And now?")
    world.deliver(refused)

    said = [message.text for message in world.conversations.fetch_view(ADA, conversation).messages]
    assert said == [OTHER, "Hello there.", "And now?"]
    (listed,) = world.conversations.show_active(ADA, limit=5).conversations
    assert listed.conversation_id == conversation
    assert world.types(refused.run_id)[-2:] == ["error", "done"]
    assert world.reading.fetch_view(ADA, refused.run_id).run.error_code == "model_unavailable"
    assert world.leases.find_lease(conversation) is None


@pytest.mark.req("F-DEGR-02", "F-DEGR-03")
def test_a_stand_in_is_told_to_the_model_the_reader_and_the_record() -> None:
    world = World(stand_in=OTHER_MODEL)
    accepted = world.submit(world.open_conversation())
    world.deliver(accepted)

    (request,) = world.model.requests
    labels = [e.payload["label"] for e in world.envelopes(accepted.run_id) if e.type == "step"]
    record = world.explaining.fetch_record(ADA, accepted.run_id)
    assert "You stand in" in request.prompt.dynamic
    assert "stand in" not in request.prompt.stable
    assert STANDING_IN in labels
    assert record.composition["instructions"]["variables"]["standIn"] == "other/m-2"  # type: ignore[index]  # JSON


def test_where_nobody_stands_in_nothing_is_said_of_it() -> None:
    world = World()
    accepted = world.submit(world.open_conversation())
    world.deliver(accepted)

    (request,) = world.model.requests
    assert "stand in" not in request.prompt.dynamic
    assert STANDING_IN not in str([envelope.payload for envelope in world.envelopes(accepted.run_id)])


def tooled_world(stand_in: ModelChoice) -> World:
    names = ("search_docs", "lookup_docs")
    return World(
        stand_in=stand_in,
        build_tools=lambda *_: tuple(ProbeTool(name) for name in names),
        profiles=MemoryProfileAdapter(replace(PROFILE, tools=names)),
    )


@pytest.mark.req("F-DEGR-02", "F-DEGR-03")
def test_tools_that_nobody_left_could_call_are_withheld_and_the_model_and_the_record_are_told() -> None:
    world = tooled_world(EXTRACTIVE)
    accepted = world.submit(world.open_conversation())
    world.deliver(accepted)

    (request,) = world.model.requests
    record = world.explaining.fetch_record(ADA, accepted.run_id)
    assert [tool.name for tool in request.tools] == ["search_docs"]
    assert "lookup_docs" in request.prompt.dynamic
    assert record.composition["withheld"] == [{"name": "lookup_docs", "reason": "providers_cooled"}]


def test_a_stand_in_that_can_call_is_offered_every_tool() -> None:
    world = tooled_world(OTHER_MODEL)
    accepted = world.submit(world.open_conversation())
    world.deliver(accepted)

    (request,) = world.model.requests
    assert [tool.name for tool in request.tools] == ["search_docs", "lookup_docs"]
    assert world.explaining.fetch_record(ADA, accepted.run_id).composition["withheld"] == []

"""Log lines tell of models and tools by names that others know, and never what was said."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from equerry.adapters.fixture.script import call, fail, replay, say
from equerry.engine.model import ToolSpec
from equerry.engine.tool import ToolEffect, ToolOutcome
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelUnavailable
from equerry.services.telemetry import describe_completion

from tests.unit.services.world import World

QUESTION, ANSWER, ARGUMENT, FOUND = "what-they-asked", "what-it-said", "what-it-sought", "what-was-found"


class Lines(logging.Handler):
    """Keeps each line's fields."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(dict(record.__dict__))

    def named(self, event: str) -> dict[str, Any]:
        """Return the one line of an event."""
        (found,) = (line for line in self.kept if line["msg"] == event)
        return found


@pytest.fixture
def lines() -> Iterator[Lines]:
    services = logging.getLogger("equerry.services")
    handler, level = Lines(), services.level
    services.addHandler(handler)
    services.setLevel(logging.INFO)
    yield handler
    services.removeHandler(handler)
    services.setLevel(level)


class Look:
    """Searches, or fails."""

    label = "Looking it up"
    effect: ToolEffect = "read"
    spec = ToolSpec(name="look", description="Looks.", input_schema={"type": "object"})

    def __init__(self, *, works: bool = True) -> None:
        self._works = works

    def run(self, _arguments: Mapping[str, object]) -> ToolOutcome:
        return ToolOutcome(content=FOUND, ok=self._works)


def answer(*rounds: Any, tool: Look | None = None) -> World:
    world = World(script=replay(rounds), build_tools=lambda *_: (tool or Look(),))
    world.deliver(world.submit(world.open_conversation(), QUESTION))
    return world


def test_an_ended_run_names_agent_conversation_model_and_tokens(lines: Lines) -> None:
    usage = Usage(
        input_tokens=9, output_tokens=4, cached_input_tokens=3, cache_write_tokens=2, reasoning_tokens=1
    )
    world = answer(say(ANSWER, usage=usage))

    (run,) = world.store.runs.values()
    choice = world.model.choice
    assert {name: entry for name, entry in lines.named("run_ended").items() if "gen_ai" in name} == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "docs",
        "gen_ai.conversation.id": run.conversation_id,
        "gen_ai.provider.name": choice.provider,
        "gen_ai.request.model": choice.model,
        "gen_ai.response.model": choice.model,
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.cache_creation.input_tokens": 2,
        "gen_ai.usage.reasoning.output_tokens": 1,
    }


def test_a_failed_run_names_its_error_and_a_finished_one_has_none(lines: Lines) -> None:
    answer(say(ANSWER))
    assert "error.type" not in lines.named("run_ended")
    lines.kept.clear()

    answer(fail(ModelUnavailable("away")))

    assert lines.named("run_ended")["error.type"] == ModelUnavailable.code


def test_a_tool_call_names_its_tool_and_whether_it_failed(lines: Lines) -> None:
    answer(call("look", call_id="call-7"), say(ANSWER))
    assert "error.type" not in lines.named("tool_finished")
    lines.kept.clear()

    answer(call("look", call_id="call-7"), say(ANSWER), tool=Look(works=False))

    line = lines.named("tool_finished")
    assert (line["gen_ai.operation.name"], line["gen_ai.tool.name"]) == ("execute_tool", "look")
    assert line["gen_ai.tool.call.id"] == "call-7"
    assert line["error.type"] == "tool_failed"


def test_no_line_holds_what_was_asked_said_sought_or_found(lines: Lines) -> None:
    answer(call("look", query=ARGUMENT), say(ANSWER))

    assert lines.kept
    assert not any(said in str(lines.kept) for said in (QUESTION, ANSWER, ARGUMENT, FOUND))


def test_a_single_completion_is_a_chat_with_its_finish_reason() -> None:
    choice = World().model.choice

    described = describe_completion(choice, "max_tokens", Usage(input_tokens=1))

    assert described["gen_ai.operation.name"] == "chat"
    assert described["gen_ai.response.finish_reasons"] == ["max_tokens"]

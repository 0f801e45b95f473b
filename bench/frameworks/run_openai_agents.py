"""openai-agents: Runner.run_streamed over a Model of the interface its documents describe; tracing is off."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)
from shuttle import ARGUMENTS, DELTAS, QUESTION, WORD, Shape, ToolCount, serve

COUNT = ToolCount()
SHAPE: ContextVar[Shape] = ContextVar("shape")
JSON = json.dumps(ARGUMENTS)
set_tracing_disabled(disabled=True)


class ScriptedModel(Model):
    """Plays the shape."""

    async def get_response(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError

    async def stream_response(
        self, _system: Any, asked: Any, *_args: Any, **_named: Any
    ) -> AsyncIterator[Any]:
        shape = SHAPE.get()
        results = (
            [] if isinstance(asked, str) else [i for i in asked if i.get("type") == "function_call_output"]
        )
        number = len(results) // max(1, shape.calls) + 1
        if number < shape.rounds:
            yield _complete([_call(f"call-{number}-{call}") for call in range(shape.calls)])
            return
        for sequence in range(DELTAS):
            yield ResponseTextDeltaEvent(
                content_index=0,
                delta=WORD,
                item_id="message",
                logprobs=[],
                output_index=0,
                sequence_number=sequence,
                type="response.output_text.delta",
            )
        text = ResponseOutputText(text=WORD * DELTAS, type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="message", content=[text], role="assistant", status="completed", type="message"
        )
        yield _complete([message])


def _call(call_id: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(arguments=JSON, call_id=call_id, name="look", type="function_call")


def _complete(output: list[Any]) -> ResponseCompletedEvent:
    response = Response(
        id="response",
        created_at=0,
        model="scripted",
        object="response",
        output=output,
        parallel_tool_calls=True,
        tool_choice="auto",
        tools=[],
    )
    return ResponseCompletedEvent(response=response, sequence_number=99, type="response.completed")


@function_tool
async def look(query: str) -> str:
    """Look something up."""
    return COUNT.look(query)


agent = Agent(name="assistant", instructions="Be brief.", model=ScriptedModel(), tools=[look])


async def play() -> str:
    result = Runner.run_streamed(agent, QUESTION, max_turns=100)
    raw = [event.data async for event in result.stream_events() if event.type == "raw_response_event"]
    return "".join(data.delta for data in raw if isinstance(data, ResponseTextDeltaEvent))


def turn(shape: Shape) -> str:
    SHAPE.set(shape)
    return loop.run_until_complete(play())


loop = asyncio.new_event_loop()
serve(turn, COUNT)

"""pydantic-ai: an Agent over its FunctionModel, its documented stand-in; the text streamed, an async tool."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextvars import ContextVar

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from shuttle import ARGUMENTS, DELTAS, QUESTION, WORD, Shape, ToolCount, serve

COUNT = ToolCount()
SHAPE: ContextVar[Shape] = ContextVar("shape")
JSON = json.dumps(ARGUMENTS)


async def stream(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    shape = SHAPE.get()
    number = sum(isinstance(message, ModelResponse) for message in messages) + 1
    if number < shape.rounds:
        for call in range(shape.calls):
            yield {call: DeltaToolCall("look", JSON, tool_call_id=f"call-{number}-{call}")}
        return
    for _ in range(DELTAS):
        yield WORD


agent = Agent(FunctionModel(stream_function=stream), instructions="Be brief.")


@agent.tool_plain
async def look(query: str) -> str:
    """Look something up."""
    return COUNT.look(query)


async def play() -> str:
    async with agent.run_stream(QUESTION) as result:
        return "".join([delta async for delta in result.stream_text(delta=True, debounce_by=None)])


def turn(shape: Shape) -> str:
    SHAPE.set(shape)
    return loop.run_until_complete(play())


loop = asyncio.new_event_loop()
serve(turn, COUNT)

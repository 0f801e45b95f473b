"""strands-agents: Agent.stream_async over a Model of its documented interface, without a callback handler."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

from shuttle import ARGUMENTS, DELTAS, QUESTION, WORD, Shape, ToolCount, serve
from strands import Agent, tool
from strands.models import Model

COUNT = ToolCount()
SHAPE: ContextVar[Shape] = ContextVar("shape")
JSON = json.dumps(ARGUMENTS)
METADATA = {
    "metadata": {
        "usage": {"inputTokens": 100, "outputTokens": 10, "totalTokens": 110},
        "metrics": {"latencyMs": 0},
    }
}


class ScriptedModel(Model):
    """Plays the shape."""

    def update_config(self, **_model_config: Any) -> None:
        return None

    def get_config(self) -> dict[str, str]:
        return {"model_id": "scripted"}

    def structured_output(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_args: Any, **_named: Any) -> AsyncIterator[Any]:
        shape = SHAPE.get()
        number = len(messages) // 2 + 1
        yield {"messageStart": {"role": "assistant"}}
        if number < shape.rounds:
            for call in range(shape.calls):
                wish = {"name": "look", "toolUseId": f"call-{number}-{call}"}
                yield {"contentBlockStart": {"start": {"toolUse": wish}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": JSON}}}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use"}}
        else:
            yield {"contentBlockStart": {"start": {}}}
            for _ in range(DELTAS):
                yield {"contentBlockDelta": {"delta": {"text": WORD}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}
        yield METADATA


@tool
async def look(query: str) -> str:
    """Look something up."""
    return COUNT.look(query)


agent = Agent(model=ScriptedModel(), tools=[look], system_prompt="Be brief.", callback_handler=None)


async def play() -> str:
    agent.messages.clear()  # it remembers, and every turn is to be the first
    return "".join([event["data"] async for event in agent.stream_async(QUESTION) if "data" in event])


def turn(shape: Shape) -> str:
    SHAPE.set(shape)
    return loop.run_until_complete(play())


loop = asyncio.new_event_loop()
serve(turn, COUNT)

"""Ours: the loop as the worker runs it, the round read in a thread, arguments checked against the schema."""

from collections.abc import Generator, Mapping

from equerry.engine.assistant import Assistant
from equerry.engine.loop_events import LoopEvent, TextProduced
from equerry.engine.loop_limits import LoopLimits
from equerry.engine.messages import ToolCallBlock
from equerry.engine.model import (
    ModelEvent,
    ModelRequest,
    Prompt,
    RoundEnd,
    TextDelta,
    ToolCallReady,
    ToolSpec,
)
from equerry.engine.run_loop import RunLoop
from equerry.engine.thread import Thread
from equerry.engine.tool import ToolEffect, ToolOutcome
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.usage import Usage
from equerry.runtime.clock import SystemClock
from shuttle import ARGUMENTS, DELTAS, QUESTION, WORD, Shape, ToolCount, serve

USAGE = Usage(input_tokens=100, output_tokens=10)
COUNT = ToolCount()


class Look:
    """The tool."""

    label = "Looking"
    effect: ToolEffect = "read"
    spec = ToolSpec(
        name="look",
        description="Look something up.",
        input_schema={
            "type": "object",
            "properties": {"query": {"type": "string"}},
            "required": ["query"],
            "additionalProperties": False,
        },
    )

    def run(self, arguments: Mapping[str, object]) -> ToolOutcome:
        return ToolOutcome(content=COUNT.look(str(arguments["query"])))


def turn(shape: Shape) -> str:
    said: list[str] = []

    def consume(event: LoopEvent, /) -> None:
        if isinstance(event, TextProduced):
            said.append(event.text)

    def stream(request: ModelRequest) -> Generator[ModelEvent, None, None]:
        number = len(request.thread.messages) // 2 + 1
        if number < shape.rounds:
            for call in range(shape.calls):
                call_id = ToolCallId(f"call-{number}-{call}")
                yield ToolCallReady(ToolCallBlock(call_id=call_id, tool="look", arguments=ARGUMENTS))
            yield RoundEnd(stop="tool_use", usage=USAGE)
            return
        for _ in range(DELTAS):
            yield TextDelta(WORD)
        yield RoundEnd(stop="end_turn", usage=USAGE)

    assistant = Assistant(
        prompt=Prompt(stable="Be brief."), tools=(Look(),), limits=LoopLimits(rounds=50, tool_calls=500)
    )
    RunLoop(stream_round=stream, clock=SystemClock()).run(assistant, Thread().say(QUESTION), consume)
    return "".join(said)


serve(turn, COUNT)

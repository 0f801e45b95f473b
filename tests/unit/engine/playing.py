"""Models and tools that do as a test says, and a run of them."""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Event

from equerry.adapters.fixture.script import ScriptedRound
from equerry.engine.assistant import Assistant
from equerry.engine.loop_events import LoopConsumer, LoopEvent
from equerry.engine.loop_limits import LoopLimits
from equerry.engine.messages import ToolCallBlock
from equerry.engine.model import ModelEvent, ModelRequest, Prompt, RoundEnd, ToolCallReady, ToolSpec
from equerry.engine.run_loop import RunLoop, RunOutcome
from equerry.engine.thread import Thread
from equerry.engine.tool import Tool, ToolEffect, ToolOutcome
from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.usage import Usage

from tests.fakes.clock import FixedClock

LONG_S = 30.0
"""How long a test waits for what must come; it never waits so long when all is well."""
ANYTHING: Mapping[str, object] = {"type": "object"}


def never_stop() -> bool:
    return False


def answer_done(_arguments: Mapping[str, object]) -> ToolOutcome:
    return ToolOutcome(content="done")


@dataclass
class ProbeTool:
    """Does what the test gave it, and keeps what it was asked."""

    name: str = "probe"
    act: Callable[[Mapping[str, object]], ToolOutcome] = answer_done
    effect: ToolEffect = "read"
    schema: Mapping[str, object] = field(default_factory=lambda: ANYTHING)
    label: str = "Probing"
    heard: list[Mapping[str, object]] = field(default_factory=list)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description="Probes.", input_schema=self.schema)

    def run(self, arguments: Mapping[str, object]) -> ToolOutcome:
        self.heard.append(arguments)
        return self.act(arguments)


def wish(tool: str, call_id: str, **arguments: object) -> ToolCallBlock:
    """One call among several."""
    return ToolCallBlock(call_id=ToolCallId(call_id), tool=tool, arguments=arguments)


def ask(*calls: ToolCallBlock) -> ScriptedRound:
    """A round that asks for several tools."""
    end = RoundEnd(stop="tool_use", usage=Usage())
    return ScriptedRound((*(ToolCallReady(call) for call in calls), end))


class StallingModel:
    """Says some, then hangs until it is told to let go, or cancelled where it listens."""

    def __init__(self, *before: ModelEvent, listens: bool = True) -> None:
        self._before = before
        self._listens = listens
        self.let_go = Event()
        self.closed = Event()
        self.asked = 0
        self.request: ModelRequest | None = None

    def stream(self, request: ModelRequest) -> Generator[ModelEvent, None, None]:
        self.asked += 1
        self.request = request
        try:
            yield from self._before
            if self._listens:
                with request.cancellation.interrupting(self.let_go.set):
                    self.let_go.wait(LONG_S)
            else:
                self.let_go.wait(LONG_S)
            yield RoundEnd(stop="end_turn", usage=Usage(input_tokens=1, output_tokens=1))
        finally:
            self.closed.set()


def run(
    stream: Callable[[ModelRequest], Generator[ModelEvent, None, None]],
    *tools: Tool,
    limits: LoopLimits | None = None,
    clock: Clock | None = None,
    should_stop: Callable[[], bool] = never_stop,
    consumer: LoopConsumer | None = None,
) -> tuple[RunOutcome, list[LoopEvent]]:
    """Return the outcome and the events; a consumer of the test's own sees them as well."""
    events: list[LoopEvent] = []

    def consume(event: LoopEvent, /) -> None:
        events.append(event)
        if consumer is not None:
            consumer(event)

    loop = RunLoop(stream_round=stream, clock=clock or FixedClock(), should_stop=should_stop)
    assistant = Assistant(prompt=Prompt(stable="Be brief."), tools=tools, limits=limits or LoopLimits())
    return loop.run(assistant, Thread().say("Well?"), consume), events


def contents(outcome: RunOutcome) -> Iterable[str]:
    """What the model was told of its calls, in order."""
    for message in outcome.thread.messages:
        for block in message.blocks:
            if hasattr(block, "content") and hasattr(block, "ok"):
                yield str(block.content)

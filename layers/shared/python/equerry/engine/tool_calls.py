"""Running the calls of one round: reads side by side, writes alone, each answered."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from equerry.engine.arguments import find_problem
from equerry.engine.assistant import Assistant
from equerry.engine.loop_events import LoopConsumer, ToolFinished, ToolSkipped, ToolStarted
from equerry.engine.messages import ToolCallBlock, ToolResultBlock
from equerry.engine.rounds import LOOK_EVERY_S, FindBreak, RoundBreak
from equerry.engine.threads import THREADS, Task
from equerry.engine.tool import Tool, ToolOutcome
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError

SIDE_BY_SIDE = 4
"""Reads of one round at once. They share the two database connections of a container, for which they wait."""
WRITE_GRACE_S = 5.0
"""A write that has begun when the turn is stopped may take so much longer, so that its outcome is known."""

_UNKNOWN_LABEL = "Trying a step"
_OVER_LIMIT = "Not run: this turn has used all its tool calls. Answer with what you have."
_READ_LEFT = ToolOutcome(
    content="Not finished: the turn was stopped while it ran.", ok=False, failure="unfinished"
)
_WRITE_LEFT = ToolOutcome(
    content="The turn was stopped while it ran: whether it took effect is not known.",
    ok=False,
    failure="outcome_unknown",
)


@dataclass(slots=True)
class _Call:
    """One call on its way to its answer."""

    block: ToolCallBlock
    tool: Tool | None
    started_s: float = 0.0
    duration_ms: int = 0
    outcome: ToolOutcome | None = None
    skipped: str | None = None

    @property
    def is_write(self) -> bool:
        return self.tool is not None and self.tool.effect == "write"

    @property
    def result(self) -> ToolResultBlock:
        if self.outcome is None:
            return ToolResultBlock(call_id=self.block.call_id, content=self.skipped or "Not run.", ok=False)
        content = self.outcome.content if self.outcome.content.strip() else "(nothing)"
        return ToolResultBlock(call_id=self.block.call_id, content=content, ok=self.outcome.ok)


@dataclass(slots=True, kw_only=True)
class ToolRunner:
    """Runs rounds of calls.

    Attributes:
        calls_left: tool calls that the run may still make.
        stop: what stopped the run meanwhile; nothing is started after it.
    """

    assistant: Assistant
    clock: Clock
    consumer: LoopConsumer
    find_break: FindBreak
    calls_left: int
    stop: RoundBreak | None = None
    _ended: "SimpleQueue[Task[Any]]" = field(default_factory=SimpleQueue)
    _running: dict[Task[ToolOutcome], _Call] = field(default_factory=dict)
    _stopped_s: float = 0.0

    def run(self, blocks: Sequence[ToolCallBlock]) -> tuple[ToolResultBlock, ...]:
        """Return the results in the order of the calls; a call that was not run is answered too.

        Neighbouring reads run side by side, a write when all before it have ended. What a tool raises that
        nobody foresaw is raised here.
        """
        calls = [_Call(block, self.assistant.find_tool(block.tool)) for block in blocks]
        for group in _group(calls):
            told = _Telling(self.consumer, group)
            for call in group:
                self._wait(told, until_below=SIDE_BY_SIDE)
                self._start(call)
                told.tell()
            self._wait(told, until_below=1)
        return tuple(call.result for call in calls)

    def _start(self, call: _Call) -> None:
        self._look()
        if self.stop is not None or self.calls_left == 0:
            call.skipped = "Not run." if self.stop else _OVER_LIMIT
            return
        self.calls_left -= 1
        self.consumer(ToolStarted(call=call.block, label=call.tool.label if call.tool else _UNKNOWN_LABEL))
        call.started_s = self.clock.monotonic_s()
        call.outcome = _refuse(self.assistant, call)
        if call.outcome is None and call.tool is not None:
            self._running[THREADS.start(_bind(call.tool, call.block), self._ended)] = call

    def _wait(self, told: "_Telling", *, until_below: int) -> None:
        while len(self._running) >= until_below:
            try:
                self._finish(self._ended.get(timeout=LOOK_EVERY_S))
            except Empty:
                self._look()
                self._leave_behind()
            told.tell()

    def _finish(self, task: Task[ToolOutcome]) -> None:
        call = self._running.pop(task)
        call.outcome = task.result()
        call.duration_ms = self._measure_ms(call)

    def _look(self) -> None:
        if self.stop is None:
            self.stop = self.find_break()
            self._stopped_s = self.clock.monotonic_s()

    def _leave_behind(self) -> None:
        """Give up what still runs after a stop; its results are nobody's."""
        if self.stop is None:
            return
        waited_s = self.clock.monotonic_s() - self._stopped_s
        left = [t for t, call in self._running.items() if not call.is_write or waited_s >= WRITE_GRACE_S]
        for task in left:
            call = self._running.pop(task)
            call.outcome = _WRITE_LEFT if call.is_write else _READ_LEFT
            call.duration_ms = self._measure_ms(call)
        if left:
            self._ended = SimpleQueue()

    def _measure_ms(self, call: _Call) -> int:
        return round((self.clock.monotonic_s() - call.started_s) * 1000)


@dataclass(slots=True)
class _Telling:
    """Tells the ends of a group's calls in the order of the calls."""

    consumer: LoopConsumer
    group: Sequence[_Call]
    told: int = 0

    def tell(self) -> None:
        while self.told < len(self.group):
            call = self.group[self.told]
            if call.skipped is not None:
                self.consumer(ToolSkipped(call=call.block))
            elif call.outcome is not None:
                self.consumer(_describe_end(call.block, call.outcome, call.duration_ms))
            else:
                return
            self.told += 1


def _group(calls: Sequence[_Call]) -> Iterator[list[_Call]]:
    reads: list[_Call] = []
    for call in calls:
        if call.is_write:
            yield reads
            yield [call]
            reads = []
        else:
            reads.append(call)
    yield reads


def _refuse(assistant: Assistant, call: _Call) -> ToolOutcome | None:
    """Return the answer to a call that is not to be run."""
    block, tool = call.block, call.tool
    if tool is None:
        known = ", ".join(spec.name for spec in assistant.specs) or "none"
        content = f"There is no tool {block.tool!r}. The tools are: {known}."
        return ToolOutcome(content=content, ok=False, failure="unknown_tool")
    problem = block.problem or find_problem(tool.spec, block.arguments)
    return ToolOutcome(content=problem, ok=False, failure="invalid_arguments") if problem else None


def _bind(tool: Tool, block: ToolCallBlock) -> Callable[[], ToolOutcome]:
    def run() -> ToolOutcome:
        try:
            return tool.run(block.arguments)
        except EquerryError as failure:
            return ToolOutcome(content=f"The tool failed: {failure}", ok=False, failure="failed")

    return run


def _describe_end(call: ToolCallBlock, outcome: ToolOutcome, duration_ms: int) -> ToolFinished:
    return ToolFinished(
        call=call,
        ok=outcome.ok,
        summary=outcome.summary,
        duration_ms=duration_ms,
        failure=None if outcome.ok else outcome.failure or "failed",
        facts=outcome.facts,
        account=outcome.account,
        project_ids=outcome.project_ids,
    )

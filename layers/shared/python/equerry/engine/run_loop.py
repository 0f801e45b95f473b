"""The loop: ask the model, run the tools it wants, until it stops or a bound does."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Literal, Protocol

from equerry.engine.assistant import Assistant
from equerry.engine.estimates import estimate_blocks, estimate_instructions, estimate_thread
from equerry.engine.messages import Block, TextBlock, ToolCallBlock, ToolResultBlock
from equerry.engine.model import (
    ModelRequest,
    OpaqueState,
    RoundEnd,
    RoundStop,
    StreamRound,
    TextDelta,
    ToolCallReady,
)
from equerry.engine.thread import Thread
from equerry.engine.tool import Tool, ToolFailure, ToolOutcome
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, TooLarge
from equerry.kernel.kinds import message, result
from equerry.kernel.usage import Usage

LoopStop = Literal[
    "end_turn",
    "max_rounds",
    "max_tool_calls",
    "max_tokens",
    "deadline",
    "refusal",
    "cancelled",
    "error",
]

_LEAST_OUTPUT_TOKENS = 64


class AllowanceTooSmall(TooLarge):
    """What was asked, with all that belongs to it, has more tokens than the run may use."""

    def __init__(self, input_tokens: int) -> None:
        super().__init__(
            f"this question and its conversation are too long for the {input_tokens} tokens that are left; "
            "ask something shorter, or ask later"
        )


@message
@dataclass(frozen=True, slots=True)
class RoundStarted:
    """A request is about to leave for the model; `number` counts from 1."""

    number: int


@message
@dataclass(frozen=True, slots=True)
class TextProduced:
    """More of the answer's text."""

    text: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A tool is about to run."""

    call: ToolCallBlock
    label: str


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A tool has answered, well or not; see ToolOutcome."""

    call: ToolCallBlock
    ok: bool
    summary: str | None
    duration_ms: int
    failure: ToolFailure | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    account: Mapping[str, object] = field(default_factory=dict)


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSkipped:
    """A call that was not run, because the turn was stopped or had used all its calls."""

    call: ToolCallBlock


LoopEvent = RoundStarted | TextProduced | ToolStarted | ToolFinished | ToolSkipped


class LoopConsumer(Protocol):
    """Sees a run as it happens; the outcome is the same without one."""

    def __call__(self, event: LoopEvent, /) -> None: ...


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended.

    Attributes:
        text: everything the model said, rounds apart by a blank line.
        unmetered: an estimate for rounds that broke off, whose tokens the provider did not report.
        error: the foreseen failure behind the stop `error`.
    """

    stop: LoopStop
    text: str
    thread: Thread
    usage: Usage
    unmetered: Usage
    rounds: int
    tool_calls: int
    error: EquerryError | None = None


@dataclass(slots=True)
class _Round:
    """What one round brought; one without an end was stopped from outside."""

    blocks: list[Block] = field(default_factory=list)
    words: str = ""
    end: RoundEnd | None = None

    def say(self, text: str) -> None:
        self.words += text

    def add(self, block: Block) -> None:
        self.close_words()
        self.blocks.append(block)

    def close_words(self) -> None:
        if self.words.strip():
            self.blocks.append(TextBlock(self.words))
        self.words = ""

    @property
    def calls(self) -> tuple[ToolCallBlock, ...]:
        """The calls that may be executed: any other stop can leave half a call."""
        if self.end is None or self.end.stop != "tool_use":
            return ()
        return tuple(block for block in self.blocks if isinstance(block, ToolCallBlock))

    @property
    def kept(self) -> tuple[Block, ...]:
        """What belongs in the thread: never a call that no result will follow."""
        return tuple(self.blocks) if self.calls else tuple(b for b in self.blocks if isinstance(b, TextBlock))


@dataclass(slots=True)
class _Progress:
    """A run so far.

    Attributes:
        instructions: estimated input of what every round repeats.
        calibration: what the provider counted in the last round, to what had been estimated.
    """

    thread: Thread
    started_s: float
    instructions: int
    calibration: float = 1.0
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    unmetered: Usage = field(default_factory=Usage)
    rounds: int = 0
    tool_calls: int = 0
    opens_round: bool = False

    def expect_input(self) -> int:
        """Return about how many input tokens a round over the thread has."""
        return round((self.instructions + estimate_thread(self.thread)) * self.calibration)

    def finish(self, stop: LoopStop, error: EquerryError | None = None) -> RunOutcome:
        return RunOutcome(
            stop=stop,
            text=self.text.strip(),
            thread=self.thread,
            usage=self.usage,
            unmetered=self.unmetered,
            rounds=self.rounds,
            tool_calls=self.tool_calls,
            error=error,
        )


def ignore_event(_event: LoopEvent, /) -> None:
    """The consumer of a run that nobody watches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLoop:
    """Runs assistants.

    Attributes:
        stream_round: one configured model.
        should_stop: asked between and inside rounds and before every tool; must be cheap.
    """

    stream_round: StreamRound
    clock: Clock
    should_stop: Callable[[], bool] = lambda: False

    def run(self, assistant: Assistant, thread: Thread, consumer: LoopConsumer = ignore_event) -> RunOutcome:
        """Run until the model has answered or a bound is met.

        `thread` ends with the person's message. A tool that fails, or does not exist, is answered to the
        model. A foreseen failure of the model ends the run with the stop `error` and keeps what came before.
        """
        progress = _Progress(
            thread=thread,
            started_s=self.clock.monotonic_s(),
            instructions=estimate_instructions(assistant.prompt, assistant.specs),
        )
        try:
            while (stop := self._take_step(assistant, progress, consumer)) is None:
                pass
        except EquerryError as failure:
            return progress.finish("error", failure)
        return progress.finish(stop)

    def _take_step(
        self, assistant: Assistant, progress: _Progress, consumer: LoopConsumer
    ) -> LoopStop | None:
        if stop := self._check_bounds(assistant, progress):
            return stop
        played = self._play_round(self._build_request(assistant, progress), progress, consumer)
        if played.end is None:
            return "cancelled"
        if not played.calls:
            return _STOP_OF[played.end.stop]
        return self._run_tools(assistant, played.calls, progress, consumer)

    def _check_bounds(self, assistant: Assistant, progress: _Progress) -> LoopStop | None:
        limits = assistant.limits
        if self.should_stop():
            return "cancelled"
        if progress.rounds >= limits.rounds:
            return "max_rounds"
        if self._left_s(assistant, progress) <= 0:
            return "deadline"
        if progress.usage.output_tokens > limits.output_tokens - _LEAST_OUTPUT_TOKENS:
            return "max_tokens"
        if progress.usage.input_tokens + progress.expect_input() > limits.input_tokens:
            if not progress.text.strip():
                raise AllowanceTooSmall(limits.input_tokens)
            return "max_tokens"
        return None

    def _build_request(self, assistant: Assistant, progress: _Progress) -> ModelRequest:
        limits = assistant.limits
        return ModelRequest(
            prompt=assistant.prompt,
            thread=progress.thread,
            tools=assistant.specs,
            tools_allowed=progress.rounds + 1 < limits.rounds and progress.tool_calls < limits.tool_calls,
            max_output_tokens=min(
                limits.round_output_tokens, limits.output_tokens - progress.usage.output_tokens
            ),
            deadline_s=self._left_s(assistant, progress),
        )

    def _left_s(self, assistant: Assistant, progress: _Progress) -> float:
        return assistant.limits.wall_s - (self.clock.monotonic_s() - progress.started_s)

    def _play_round(self, request: ModelRequest, progress: _Progress, consumer: LoopConsumer) -> _Round:
        progress.rounds += 1
        progress.opens_round = bool(progress.text)
        consumer(RoundStarted(progress.rounds))
        played = _Round()
        try:
            with closing(self.stream_round(request)) as events:
                for event in events:
                    if self.should_stop():
                        break
                    if isinstance(event, TextDelta):
                        played.say(event.text)
                        _pass_on(event.text, progress, consumer)
                    elif isinstance(event, ToolCallReady):
                        played.add(event.call)
                    elif isinstance(event, OpaqueState):
                        played.add(event.block)
                    elif isinstance(event, RoundEnd):
                        played.end = event
        finally:
            _keep(played, progress)
        return played

    def _run_tools(
        self,
        assistant: Assistant,
        calls: tuple[ToolCallBlock, ...],
        progress: _Progress,
        consumer: LoopConsumer,
    ) -> LoopStop | None:
        """Run a round's calls in order; a stop in between answers the rest as not run."""
        results: list[ToolResultBlock] = []
        stop: LoopStop | None = None
        for call in calls:
            if stop is None and self.should_stop():
                stop = "cancelled"
            if stop is None and progress.tool_calls < assistant.limits.tool_calls:
                results.append(self._run_tool(assistant, call, progress, consumer))
            else:
                consumer(ToolSkipped(call=call))
                content = _OVER_LIMIT if stop is None else "Not run."
                results.append(ToolResultBlock(call_id=call.call_id, content=content, ok=False))
        progress.thread = progress.thread.resolve(*results)
        return stop

    def _run_tool(
        self, assistant: Assistant, call: ToolCallBlock, progress: _Progress, consumer: LoopConsumer
    ) -> ToolResultBlock:
        progress.tool_calls += 1
        tool = assistant.find_tool(call.tool)
        consumer(ToolStarted(call=call, label=tool.label if tool else _UNKNOWN_LABEL))
        started_s = self.clock.monotonic_s()
        outcome = _call_tool(tool, call) if tool else _answer_unknown(assistant, call)
        duration_ms = round((self.clock.monotonic_s() - started_s) * 1000)
        consumer(_tell_end(call, outcome, duration_ms))
        return ToolResultBlock(call_id=call.call_id, content=outcome.content, ok=outcome.ok)


_UNKNOWN_LABEL = "Trying a step"
_OVER_LIMIT = "Not run: this turn has used all its tool calls. Answer with what you have."
_STOP_OF: dict[RoundStop, LoopStop] = {
    "end_turn": "end_turn",
    "tool_use": "end_turn",  # it announced calls and made none
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "filtered": "refusal",
    "malformed": "error",
}


def _call_tool(tool: Tool, call: ToolCallBlock) -> ToolOutcome:
    try:
        return tool.run(call.arguments)
    except EquerryError as failure:
        return ToolOutcome(content=f"The tool failed: {failure}", ok=False, failure="failed")


def _answer_unknown(assistant: Assistant, call: ToolCallBlock) -> ToolOutcome:
    known = ", ".join(spec.name for spec in assistant.specs) or "none"
    content = f"There is no tool {call.tool!r}. The tools are: {known}."
    return ToolOutcome(content=content, ok=False, failure="unknown_tool")


def _tell_end(call: ToolCallBlock, outcome: ToolOutcome, duration_ms: int) -> ToolFinished:
    return ToolFinished(
        call=call,
        ok=outcome.ok,
        summary=outcome.summary,
        duration_ms=duration_ms,
        failure=None if outcome.ok else outcome.failure or "failed",
        facts=outcome.facts,
        account=outcome.account,
    )


def _pass_on(text: str, progress: _Progress, consumer: LoopConsumer) -> None:
    """Give text to the consumer, apart from an earlier round's by a blank line."""
    if progress.opens_round and text.strip():
        progress.opens_round = False
        text = "\n\n" + text.lstrip()
    progress.text += text
    consumer(TextProduced(text))


def _keep(played: _Round, progress: _Progress) -> None:
    """Put what a round brought into the progress, also when it broke off."""
    played.close_words()
    expected = progress.expect_input()
    if played.end is None:
        progress.unmetered += Usage(input_tokens=expected, output_tokens=estimate_blocks(played.blocks))
    else:
        progress.usage += played.end.usage
        progress.calibration *= (played.end.usage.input_tokens or expected) / max(1, expected)
    if played.kept:
        progress.thread = progress.thread.answer(*played.kept)

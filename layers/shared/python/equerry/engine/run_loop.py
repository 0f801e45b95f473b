"""The loop: ask the model, run the tools it wants, until it stops or a bound does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from equerry.engine.assistant import Assistant
from equerry.engine.estimates import estimate_instructions
from equerry.engine.loop_events import (
    LoopConsumer,
    RoundFinished,
    RoundRestarted,
    RoundStarted,
    TextProduced,
    ignore_event,
)
from equerry.engine.messages import ToolCallBlock
from equerry.engine.model import ModelEvent, ModelRequest, Restarted, RoundStop, StreamRound, TextDelta
from equerry.engine.model_text import TextMender
from equerry.engine.played_round import PlayedRound
from equerry.engine.rounds import RoundBreak, RoundReader
from equerry.engine.run_progress import RunProgress
from equerry.engine.thread import Thread
from equerry.engine.tool_calls import ToolRunner
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, TooLarge, Unavailable
from equerry.kernel.kinds import result
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


class RoundUnusable(Unavailable):
    """The model's round came to no end that can be used."""

    code = "model_unavailable"

    def __init__(self) -> None:
        super().__init__("the model's answer broke off; ask again")


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended.

    Attributes:
        text: everything the model said, rounds apart by a blank line.
        unmetered: an estimate for rounds whose tokens the provider did not report, as when they broke off.
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
        A model or a tool that hangs ends no later than the run: it is left behind, in a thread of its own.
        """
        progress = RunProgress(
            thread=thread,
            deadline_s=self.clock.monotonic_s() + assistant.limits.wall_s,
            instructions=estimate_instructions(assistant.prompt, assistant.specs),
            call_ids={call.call_id for message in thread.messages for call in message.tool_calls},
        )
        try:
            while (stop := self._take_step(assistant, progress, consumer)) is None:
                pass
        except EquerryError as failure:
            return _finish(progress, "error", failure)
        return _finish(progress, stop)

    def _take_step(
        self, assistant: Assistant, progress: RunProgress, consumer: LoopConsumer
    ) -> LoopStop | None:
        if stop := self._check_bounds(assistant, progress):
            return stop
        played = PlayedRound()
        stop = self._play_round(assistant, progress, played, consumer)
        consumer(_tell_end(played, progress.rounds))
        if stop:
            return stop
        if played.end is None or played.end.stop == "malformed":
            raise RoundUnusable
        if not played.calls:
            return _STOP_OF[played.end.stop]
        return self._run_tools(assistant, played.calls, progress, consumer)

    def _check_bounds(self, assistant: Assistant, progress: RunProgress) -> LoopStop | None:
        limits = assistant.limits
        if stop := self._find_break(progress):
            return stop
        if progress.rounds >= limits.rounds:
            return "max_rounds"
        if progress.usage.output_tokens > limits.output_tokens - _LEAST_OUTPUT_TOKENS:
            return "max_tokens"
        if progress.usage.input_tokens + progress.expect_input() > limits.input_tokens:
            if not progress.text.strip():
                raise AllowanceTooSmall(limits.input_tokens)
            return "max_tokens"
        return None

    def _find_break(self, progress: RunProgress) -> RoundBreak | None:
        if self.should_stop():
            return "cancelled"
        return "deadline" if self.clock.monotonic_s() >= progress.deadline_s else None

    def _build_request(self, assistant: Assistant, progress: RunProgress) -> ModelRequest:
        limits = assistant.limits
        return ModelRequest(
            prompt=assistant.prompt,
            thread=progress.thread,
            tools=assistant.specs,
            tools_allowed=progress.rounds + 1 < limits.rounds and progress.tool_calls < limits.tool_calls,
            max_output_tokens=min(
                limits.round_output_tokens, limits.output_tokens - progress.usage.output_tokens
            ),
            deadline_s=progress.deadline_s - self.clock.monotonic_s(),
            may_restart=True,
        )

    def _play_round(
        self, assistant: Assistant, progress: RunProgress, played: PlayedRound, consumer: LoopConsumer
    ) -> LoopStop | None:
        request = self._build_request(assistant, progress)
        progress.begin_round()
        consumer(RoundStarted(progress.rounds))

        mender = TextMender()

        def take(event: ModelEvent) -> None:
            for mended in mender.mend(event):
                played.take(mended)
                if isinstance(mended, TextDelta):
                    consumer(TextProduced(progress.add_text(mended.text)))
                elif isinstance(mended, Restarted):
                    progress.begin_anew(played, mended.model)
                    consumer(RoundRestarted(number=progress.rounds, model=mended.model, reason=mended.reason))

        reader = RoundReader(
            stream_round=self.stream_round,
            request=request,
            take=take,
            find_break=lambda: self._find_break(progress),
            clock=self.clock,
            first_chunk_s=assistant.limits.first_chunk_s,
            inter_chunk_s=assistant.limits.inter_chunk_s,
        )
        try:
            return reader.read()
        except Unavailable:
            # An adapter obeys the same deadline, and may be the first to notice that it has passed.
            if self._find_break(progress) == "deadline":
                return "deadline"
            raise
        finally:
            progress.keep(played)

    def _run_tools(
        self,
        assistant: Assistant,
        calls: tuple[ToolCallBlock, ...],
        progress: RunProgress,
        consumer: LoopConsumer,
    ) -> LoopStop | None:
        """Answer a round's calls; a stop in between answers the rest as not run."""
        runner = ToolRunner(
            assistant=assistant,
            clock=self.clock,
            consumer=consumer,
            find_break=lambda: self._find_break(progress),
            calls_left=assistant.limits.tool_calls - progress.tool_calls,
        )
        results = runner.run(calls)
        progress.tool_calls = assistant.limits.tool_calls - runner.calls_left
        progress.thread = progress.thread.resolve(*results)
        return runner.stop


_STOP_OF: dict[RoundStop, LoopStop] = {  # a malformed round is a failure
    "end_turn": "end_turn",
    "tool_use": "end_turn",  # it announced calls and made none
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "filtered": "refusal",
    "malformed": "error",
}


def _tell_end(played: PlayedRound, number: int) -> RoundFinished:
    end = played.end
    if end is None:
        return RoundFinished(number=number, stop=None, usage=None, model=played.model)
    usage = end.usage if end.metered else None
    return RoundFinished(number=number, stop=end.stop, usage=usage, model=played.model)


def _finish(progress: RunProgress, stop: LoopStop, error: EquerryError | None = None) -> RunOutcome:
    return RunOutcome(
        stop=stop,
        text=progress.text.strip(),
        thread=progress.thread,
        usage=progress.usage,
        unmetered=progress.unmetered,
        rounds=progress.rounds,
        tool_calls=progress.tool_calls,
        error=error,
    )

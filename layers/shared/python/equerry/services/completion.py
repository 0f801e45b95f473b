"""One answer in a form that the caller gives; no conversation, nothing kept."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field

from equerry.domain.completion import EMIT, CompletionCode, CompletionRefused, CompletionRequest
from equerry.domain.switches import ModelSwitchedOff
from equerry.engine.messages import ToolCallBlock
from equerry.engine.model import (
    ArgumentsDelta,
    ModelChoice,
    ModelEvent,
    ModelRequest,
    ModelStream,
    Prompt,
    ReasoningLevel,
    Restarted,
    RoundEnd,
    RoundStop,
    StillWorking,
    ThinkingDelta,
    ToolCallReady,
    ToolSpec,
)
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, Unavailable
from equerry.kernel.kinds import message, result
from equerry.kernel.usage import Usage
from equerry.ports.model import InputUnsupported, ModelCancelled, ModelPort, ModelRejected
from equerry.ports.switches import SwitchPort
from equerry.services.answer_schema import check_answer, compile_schema

_FAILURES = (Unavailable, ModelRejected, ModelCancelled)
_PASSED_ON = (ThinkingDelta, ArgumentsDelta, StillWorking)
_STOPS: dict[RoundStop, str] = {
    "max_tokens": "the answer was cut off by the allowance of output tokens",
    "refusal": "the model declined to answer",
    "filtered": "a filter of the model's provider stopped the answer",
    "malformed": "the model's provider calls its answer unusable",
}


@message
@dataclass(frozen=True, slots=True)
class CompletionStarted:
    """The model is chosen and has not been asked yet."""

    model: ModelChoice


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The answer, which fits the caller's schema; `model` is the one that really ran."""

    output: object
    model: ModelChoice
    usage: Usage
    duration_ms: int


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """Who is to answer; `choice` is known before anything of the provider's is imported."""

    choice: ModelChoice
    model: ModelPort
    reasoning: ReasoningLevel | None = None


ChooseModel = Callable[[CompletionRequest], ChosenModel]
"""Raises CompletionRefused for a profile that nobody configured, and where no model could write anything."""
CompletionEvent = CompletionStarted | ThinkingDelta | ArgumentsDelta | StillWorking | Completion
CompletionEvents = Generator[CompletionEvent, None, None]


@dataclass(slots=True)
class _Reply:
    """What a round has brought so far."""

    calls: list[ToolCallBlock] = field(default_factory=list)
    end: RoundEnd | None = None

    def take(self, event: ModelEvent) -> None:
        match event:
            case ToolCallReady(call):
                self.calls.append(call)
            case Restarted():
                self.calls.clear()
            case RoundEnd():
                self.end = event

    def read(self) -> object:
        """Return the answer; raises CompletionRefused where there is not exactly one."""
        stop = self.end.stop if self.end else "malformed"
        if stop in _STOPS:
            raise _failed(_STOPS[stop])
        emitted = [call for call in self.calls if call.tool == EMIT and call.problem is None]
        if len(emitted) != 1 or len(self.calls) != 1:
            raise _failed(f"the model gave {len(self.calls)} answers instead of one")
        return dict(emitted[0].arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionService:
    """Asks the model of a request for the one call of `emit` that is its answer.

    Attributes:
        switch: the switch of completions, whose platform level is theirs alone.
        longest_s: what one completion may take at most, however much time there is.
    """

    choose: ChooseModel
    switch: SwitchPort
    clock: Clock
    max_output_tokens: int
    longest_s: float

    def complete(self, request: CompletionRequest, *, deadline_s: float) -> Completion:
        """Return the answer; raises CompletionRefused, whatever went wrong at the provider's."""
        done = [
            event for event in self._run(request, deadline_s, streamed=False) if isinstance(event, Completion)
        ]
        return done[-1]

    def stream(self, request: CompletionRequest, *, deadline_s: float) -> CompletionEvents:
        """Yield what happens: CompletionStarted first, the Completion last; see `complete`."""
        return self._run(request, deadline_s, streamed=True)

    def _run(self, request: CompletionRequest, deadline_s: float, *, streamed: bool) -> CompletionEvents:
        deadline_at_s = self.clock.monotonic_s() + min(deadline_s, self.longest_s)
        if not self.switch.is_on():
            raise CompletionRefused("disabled", "structured completions are switched off at the moment")
        chosen = self.choose(request)
        if code := request.find_unsupported(chosen.choice.provider):
            raise _unsupported(code)
        yield CompletionStarted(chosen.choice)
        validator = compile_schema(request.json_schema)
        began_s = self.clock.monotonic_s()
        reply = _Reply()
        asked = self._ask(request, chosen, deadline_at_s - began_s, may_restart=not streamed)
        with closing(self._listen(chosen.model, asked, deadline_at_s)) as events:
            for event in events:
                if not isinstance(event, _PASSED_ON):
                    reply.take(event)
                elif streamed:
                    yield event
        duration_ms = round((self.clock.monotonic_s() - began_s) * 1000)
        output = reply.read()
        check_answer(validator, output)
        end = reply.end or RoundEnd(stop="malformed", usage=Usage())
        yield Completion(
            output=output, model=end.model or chosen.choice, usage=end.usage, duration_ms=duration_ms
        )

    def _ask(
        self, request: CompletionRequest, chosen: ChosenModel, deadline_s: float, *, may_restart: bool
    ) -> ModelRequest:
        answer = ToolSpec(
            name=EMIT,
            description=f"Gives the answer, {request.schema_name}. Call it once, with the whole answer.",
            input_schema={"type": "object", **request.json_schema},
        )
        return ModelRequest(
            prompt=Prompt(stable=request.system),
            thread=request.build_thread(),
            tools=(answer,),
            forced_tool=EMIT,
            reasoning=chosen.reasoning,
            max_output_tokens=self.max_output_tokens,
            deadline_s=deadline_s,
            may_restart=may_restart,
        )

    def _listen(self, model: ModelPort, asked: ModelRequest, deadline_at_s: float) -> ModelStream:
        """Pass on what the model says, and tell its failures as a caller may know them."""
        try:
            self._require_time(deadline_at_s)
            with closing(model.stream(asked)) as events:
                for event in events:
                    yield event
                    if not isinstance(event, RoundEnd):
                        self._require_time(deadline_at_s)
        except InputUnsupported as failure:
            code: CompletionCode = (
                "documents_unsupported"
                if failure.code == "documents_unsupported"
                else "image_input_unsupported"
            )
            raise _unsupported(code) from None
        except ModelSwitchedOff as failure:
            raise CompletionRefused("disabled", str(failure)) from None
        except _FAILURES as failure:
            self._require_time(deadline_at_s)
            raise _failed(_describe(failure)) from None

    def _require_time(self, deadline_at_s: float) -> None:
        if self.clock.monotonic_s() >= deadline_at_s:
            raise CompletionRefused("deadline_exceeded", "the model did not finish before the deadline")


def _describe(failure: EquerryError) -> str:
    # A rejection may say what of the request it was about; those of ours name a status and a type alone.
    return f"{failure.code}: {failure}"


def _unsupported(code: CompletionCode) -> CompletionRefused:
    what = "PDF documents" if code == "documents_unsupported" else "images"
    return CompletionRefused(code, f"the provider that answers here reads no {what}")


def _failed(detail: str) -> CompletionRefused:
    return CompletionRefused("completion_failed", detail)

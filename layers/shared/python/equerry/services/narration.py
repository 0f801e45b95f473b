"""Tells a run's story as it happens: loop events in; published events, kept steps and rounds out."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from equerry.channel.events import Restart, Step, Token, ToolEnd, ToolStart
from equerry.channel.publisher import Publisher
from equerry.domain.citations import CitationFilter, FilterMark
from equerry.domain.redaction import redact_arguments, redact_value
from equerry.domain.steps import ToolStep, derive_step_text
from equerry.engine.loop_events import (
    LoopEvent,
    RoundFinished,
    RoundRestarted,
    RoundStarted,
    TextProduced,
    ToolFinished,
    ToolSkipped,
    ToolStarted,
)
from equerry.engine.messages import ToolCallBlock
from equerry.engine.model import ModelChoice
from equerry.kernel.identifiers import ProjectId, ToolCallId
from equerry.kernel.kinds import value
from equerry.kernel.usage import Usage
from equerry.services.telemetry import describe_tool

logger = logging.getLogger(__name__)


def _keep_nothing(_step: ToolStep) -> None:
    """What is kept of a step where nobody keeps any."""


def _mark_nothing(_project_ids: tuple[ProjectId, ...]) -> None:
    """What is marked where nothing belongs to a project."""


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    """How things stood when a round began."""

    text: str
    first_text_at: datetime | None
    citations: FilterMark


@dataclass(slots=True, kw_only=True)
class Narrator:
    """The consumer of one run's loop.

    Attributes:
        on_first_round: runs before the first request leaves for a model.
        save_step: keeps a step before it runs and again when it has finished; a failure stops nothing.
        mark_projects: runs before content of projects new to the run is shown; what it raises ends the turn.
        text: the answer as readers saw it.
        first_text_at: when readers were sent the first of it.
        rounds: with the model so far, for the run's record.
        metered: what the rounds took that came to an end, and which model that was if not the one wanted.
        project_ids: whose content the run was given so far.
        served_by: the model of the last round, if not the one wanted.
    """

    publisher: Publisher
    citations: CitationFilter
    on_first_round: Callable[[], None]
    save_step: Callable[[ToolStep], None] = _keep_nothing
    mark_projects: Callable[[tuple[ProjectId, ...]], None] = _mark_nothing
    text: str = ""
    first_text_at: datetime | None = None
    rounds: list[dict[str, object]] = field(default_factory=list)
    metered: list[tuple[ModelChoice | None, Usage]] = field(default_factory=list)
    project_ids: tuple[ProjectId, ...] = ()
    served_by: ModelChoice | None = None
    _opening: _Opening | None = None
    _steps: dict[ToolCallId, ToolStep] = field(default_factory=dict)

    def __call__(self, event: LoopEvent, /) -> None:
        match event:
            case RoundStarted(number):
                self._start_round(number)
            case RoundRestarted():
                self._restart_round(event)
            case RoundFinished():
                self._finish_round(event)
            case TextProduced(text):
                self._show(self.citations.feed(text))
            case ToolStarted(call=call, label=label):
                self._start_tool(call, label)
            case ToolFinished():
                self._finish_tool(event)
            case ToolSkipped(call=call):
                self._skip_tool(call)

    @property
    def actions(self) -> tuple[ToolStep, ...]:
        """The run's tool calls so far, in order."""
        return tuple(self._steps.values())

    def admit_projects(self, project_ids: Iterable[ProjectId]) -> None:
        """Say that what follows may hold content of these projects."""
        known = frozenset(self.project_ids)
        wanted = known.union(project_ids)
        if wanted != known:
            self.project_ids = tuple(sorted(wanted))
            self.mark_projects(self.project_ids)

    def finish(self) -> None:
        """Show what the citation filter still holds."""
        self._show(self.citations.finish())
        self.publisher.flush()

    def _start_round(self, number: int) -> None:
        if number == 1:
            self.on_first_round()
        self.rounds.append({"number": number, "startedAt": self._now().isoformat()})
        self.publisher.publish(Step(stage="answering", label="Thinking"))
        self._opening = _Opening(
            text=self.text, first_text_at=self.first_text_at, citations=self.citations.mark()
        )

    def _restart_round(self, event: RoundRestarted) -> None:
        """Take back what this round has shown, and say so."""
        opening = self._opening
        if opening is None:
            raise ValueError(f"round {event.number} begins anew and had not begun")
        discarded = len(self.text) - len(opening.text)
        self.served_by = event.model
        self.text, self.first_text_at = opening.text, opening.first_text_at
        self.citations.return_to(opening.citations)
        earlier = self.rounds[-1].get("restarts")
        told = {"reason": event.reason, "discardedCharacters": discarded, **_describe(event.model)}
        self.rounds[-1]["restarts"] = [*(earlier if isinstance(earlier, list) else []), told]
        self.publisher.publish(Restart(text=self.text))
        self.publisher.publish(Step(stage="answering", label="Starting this part again"))

    def _finish_round(self, event: RoundFinished) -> None:
        ended: dict[str, object] = {"endedAt": self._now().isoformat(), "stop": event.stop}
        if event.usage is not None:
            ended["inputTokens"] = event.usage.input_tokens
            ended["outputTokens"] = event.usage.output_tokens
            self.metered.append((event.model, event.usage))
        self.served_by = event.model
        if event.model is not None:
            ended |= _describe(event.model)
        self.rounds[-1] |= ended

    def _show(self, text: str) -> None:
        if text:
            self.text += text
            self.publisher.publish(Token(delta=text))
            self.first_text_at = self.first_text_at or self._now()

    def _start_tool(self, call: ToolCallBlock, label: str) -> None:
        step = self._begin(call, label)
        self._save(step)
        self.publisher.publish(ToolStart(tool_call_id=step.call_id, tool=step.tool, label=step.label))

    def _finish_tool(self, event: ToolFinished) -> None:
        self.admit_projects(event.project_ids)
        step = replace(
            self._steps[event.call.call_id],
            finished_at=self._now(),
            duration_ms=event.duration_ms,
            ok=event.ok,
            failure=event.failure,
            text=derive_step_text(event.summary, event.failure),
            facts=_clean(event.facts),
            account=_clean(event.account),
        )
        self._save(step)
        logger.info("tool_finished", extra=describe_tool(event))
        self.publisher.publish(ToolEnd(tool_call_id=step.call_id, ok=event.ok, summary=step.text))

    def _skip_tool(self, call: ToolCallBlock) -> None:
        """Audit a call that was never run; nobody was shown that it would be."""
        step = self._begin(call, label=call.tool)
        text = derive_step_text(None, "skipped")
        self._save(
            replace(step, finished_at=self._now(), duration_ms=0, ok=False, failure="skipped", text=text)
        )

    def _begin(self, call: ToolCallBlock, label: str) -> ToolStep:
        return ToolStep(
            position=len(self._steps),
            call_id=call.call_id,
            tool=call.tool,
            label=label,
            arguments=redact_arguments(call.arguments),
            started_at=self._now(),
        )

    def _save(self, step: ToolStep) -> None:
        self._steps[step.call_id] = step
        try:
            self.save_step(step)
        except Exception:  # noqa: BLE001  # progress is for later readers; the turn goes on without it
            logger.warning("step_not_saved", extra={"tool": step.tool, "position": step.position})

    def _now(self) -> datetime:
        return self.publisher.clock.now()


def _describe(model: ModelChoice) -> dict[str, object]:
    return {"provider": model.provider, "model": model.model}


def _clean(data: Mapping[str, object]) -> Mapping[str, object]:
    cleaned = redact_value(data)
    return cleaned if isinstance(cleaned, dict) else {}

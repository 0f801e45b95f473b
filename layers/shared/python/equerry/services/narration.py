"""Tells a run's story as it happens: loop events in, published events and the audit's actions out."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from equerry.channel.events import Step, Token, ToolEnd, ToolStart
from equerry.channel.publisher import Publisher
from equerry.domain.citations import CitationFilter
from equerry.domain.conversations import ToolAction
from equerry.domain.redaction import redact_arguments
from equerry.engine.run_loop import (
    LoopEvent,
    RoundStarted,
    TextProduced,
    ToolFinished,
    ToolSkipped,
    ToolStarted,
)
from equerry.services.telemetry import describe_tool

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Narrator:
    """The consumer of one run's loop.

    Attributes:
        on_first_round: runs before the first request leaves for a model.
        text: the answer as readers saw it.
        first_text_at: when readers were sent the first of it.
    """

    publisher: Publisher
    citations: CitationFilter
    on_first_round: Callable[[], None]
    text: str = ""
    first_text_at: datetime | None = None
    actions: list[ToolAction] = field(default_factory=list)

    def __call__(self, event: LoopEvent, /) -> None:
        match event:
            case RoundStarted(number):
                self._start_round(number)
            case TextProduced(text):
                self._show(self.citations.feed(text))
            case ToolStarted(call=call, label=label):
                self.publisher.publish(ToolStart(tool_call_id=call.call_id, tool=call.tool, label=label))
            case ToolFinished():
                self._finish_tool(event)
            case ToolSkipped(call=call):
                logger.info("tool_skipped", extra={"tool": call.tool})

    def finish(self) -> None:
        """Show what the citation filter still holds."""
        self._show(self.citations.finish())
        self.publisher.flush()

    def _start_round(self, number: int) -> None:
        if number == 1:
            self.on_first_round()
        self.publisher.publish(Step(stage="answering", label="Thinking"))

    def _show(self, text: str) -> None:
        if text:
            self.text += text
            self.publisher.publish(Token(delta=text))
            self.first_text_at = self.first_text_at or self.publisher.clock.now()

    def _finish_tool(self, event: ToolFinished) -> None:
        call = event.call
        self.actions.append(
            ToolAction(
                call_id=call.call_id,
                tool=call.tool,
                arguments=redact_arguments(call.arguments),
                ok=event.ok,
                summary=event.summary,
                duration_ms=event.duration_ms,
            )
        )
        logger.info("tool_finished", extra=describe_tool(event))
        self.publisher.publish(ToolEnd(tool_call_id=call.call_id, ok=event.ok, summary=event.summary))

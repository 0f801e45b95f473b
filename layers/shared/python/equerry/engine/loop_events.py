"""What a run tells while it happens."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from equerry.engine.messages import ToolCallBlock
from equerry.engine.model import ModelChoice, RoundStop
from equerry.engine.tool import ToolFailure
from equerry.kernel.identifiers import ProjectId
from equerry.kernel.kinds import message
from equerry.kernel.usage import Usage


@message
@dataclass(frozen=True, slots=True)
class RoundStarted:
    """A request is about to leave for the model; `number` counts from 1."""

    number: int


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFinished:
    """A round is over; one that broke off has neither stop nor usage.

    Attributes:
        model: the one that ran, where the provider says so and it is not the one that was asked for.
    """

    number: int
    stop: RoundStop | None
    usage: Usage | None
    model: ModelChoice | None = None


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRestarted:
    """The text of this round is thrown away, and `model` begins it anew; none of its tools has run.

    Attributes:
        reason: code of the failure behind it.
    """

    number: int
    model: ModelChoice
    reason: str


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
    project_ids: tuple[ProjectId, ...] = ()


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSkipped:
    """A call that was not run, because the turn was stopped or had used all its calls."""

    call: ToolCallBlock


LoopEvent = (
    RoundStarted | RoundRestarted | RoundFinished | TextProduced | ToolStarted | ToolFinished | ToolSkipped
)


class LoopConsumer(Protocol):
    """Sees a run as it happens, one event at a time; the outcome is the same without one.

    Tools that run side by side start and finish here in the order of their calls.
    """

    def __call__(self, event: LoopEvent, /) -> None: ...


def ignore_event(_event: LoopEvent, /) -> None:
    """The consumer of a run that nobody watches."""

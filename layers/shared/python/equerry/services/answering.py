"""Answering: one run, from the composed prompt to its `done`."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from equerry.channel.events import Citations, Done, MessagePersisted, RunError, Step, StopReason
from equerry.channel.publisher import Publisher
from equerry.domain.citations import CitationFilter
from equerry.domain.composition import compose_prompt, compose_thread, fit_history
from equerry.domain.conversations import Run, RunEnd, accept_run
from equerry.domain.evidence import Evidence
from equerry.domain.execution import HISTORY_SHARE, bound_limits, choose_history
from equerry.domain.leases import LeaseLost
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Scope
from equerry.domain.profiles import Profile
from equerry.engine.assistant import Assistant
from equerry.engine.run_loop import RunLoop
from equerry.engine.tool import Tool
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, describe_failure
from equerry.kernel.usage import Usage
from equerry.ports.admission import AdmissionPort
from equerry.ports.delivery import EnvelopeExists, ReplayLogPort
from equerry.ports.metrics import MetricPort
from equerry.ports.model import ModelPort
from equerry.ports.profiles import ProfilePort
from equerry.ports.transcripts import RunPort, TranscriptPort
from equerry.services.delivery import DeliveryService
from equerry.services.measuring import derive_shape, measure_end
from equerry.services.narration import Narrator
from equerry.services.pulse import Pulse
from equerry.services.telemetry import describe_run

logger = logging.getLogger(__name__)

BuildTools = Callable[[Profile, Scope, Evidence, str], tuple[Tool, ...]]
"""Builds a turn's tools: profile, scope, evidence to fill, and the nonce that fences their results."""

UNFORESEEN = EquerryError(
    "Something went wrong on our side and this answer could not be finished. Ask again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """How a run stops; `spent` is what its budget is charged, None if nobody can know."""

    stop: StopReason
    usage: Usage = field(default_factory=Usage)
    failure: EquerryError | None = None
    spent: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerService:
    """Answers claimed runs."""

    transcripts: TranscriptPort
    runs: RunPort
    admissions: AdmissionPort
    profiles: ProfilePort
    model: ModelPort
    log: ReplayLogPort
    delivery: DeliveryService
    metrics: MetricPort
    build_tools: BuildTools
    new_nonce: Callable[[], str]
    limits: TurnLimits
    clock: Clock

    def answer(self, run: Run, pulse: Pulse) -> None:
        """Run to the end and say so; a failure ends the run with an error and `done` like any other end.

        Raises:
            LeaseLost, EnvelopeExists: another worker has the run; nothing more was written.
        """
        narrator = self._open_narrator(run, pulse)
        try:
            ending = self._play(run, pulse, narrator)
        except (LeaseLost, EnvelopeExists):
            raise
        except EquerryError as foreseen:  # before the loop, which ends by itself when the model fails
            ending = _Ending(stop="error", failure=foreseen, spent=0)
        except Exception:
            # A reader must not wait for a bug of ours: the run ends, and the failure goes on to the alarm.
            self._finish(run, pulse, narrator, _Ending(stop="error", failure=UNFORESEEN, spent=None))
            raise
        self._finish(run, pulse, narrator, ending)

    def _open_narrator(self, run: Run, pulse: Pulse) -> Narrator:
        last = self.log.find_last(run.run_id)
        publisher = Publisher(
            run_id=run.run_id,
            conversation_id=run.conversation_id,
            broadcaster=self.delivery,
            clock=self.clock,
            last_seq=last.seq if last else 0,
        )
        return Narrator(
            publisher=publisher,
            citations=CitationFilter(Evidence(run.run_id)),
            on_first_round=lambda: self.runs.mark_provider_started(pulse.lease.scope, run.run_id),
        )

    def _play(self, run: Run, pulse: Pulse, narrator: Narrator) -> _Ending:
        scope, reserved = pulse.lease.scope, pulse.lease.reservation
        if narrator.publisher.last_seq == 0:
            narrator.publisher.publish(accept_run(run))
        narrator.publisher.publish(Step(stage="composing", label="Reading the conversation"))
        profile = self.profiles.fetch_profile(run.profile)
        self.runs.start_run(scope, run.run_id, profile_version=profile.version, model=self.model.choice)
        nonce = self.new_nonce()
        tools = self.build_tools(profile, scope, narrator.citations.evidence, nonce)
        assistant = Assistant(
            prompt=compose_prompt(profile, retrieves=bool(tools), nonce=nonce),
            tools=tools,
            limits=bound_limits(profile.limits, reserved, self.limits),
        )
        seen = choose_history(reserved, self.limits)
        history = fit_history(
            self.transcripts.list_messages(scope, run.conversation_id, limit=seen),
            tokens=assistant.limits.input_tokens // HISTORY_SHARE,
        )
        loop = RunLoop(stream_round=self.model.stream, clock=self.clock, should_stop=pulse.should_stop)
        outcome = loop.run(assistant, compose_thread(history, nonce=nonce), narrator)
        return _Ending(
            stop=outcome.stop,
            usage=outcome.usage,
            failure=outcome.error,
            spent=outcome.usage.tokens + outcome.unmetered.tokens,
        )

    def _finish(self, run: Run, pulse: Pulse, narrator: Narrator, ending: _Ending) -> None:
        """Persist the answer and end the run: citations, answer, error, and the one `done`."""
        if pulse.lost:
            raise LeaseLost("the run was taken over; its new holder ends it")
        narrator.finish()
        failure = ending.failure
        publisher, refs = narrator.publisher, tuple(narrator.citations.refs)
        if refs:
            publisher.publish(Citations(message_id=run.assistant_message_id, refs=refs))
        has_text = bool(narrator.text.strip())
        end = RunEnd(
            stop_reason=ending.stop,
            usage=ending.usage,
            last_seq=publisher.last_seq + has_text + (failure is not None) + 1,
            ended_at=self.clock.now(),
            text=narrator.text if has_text else "",
            citations=refs,
            citations_removed=narrator.citations.removed,
            passages_retrieved=narrator.citations.evidence.passage_ids,
            actions=tuple(narrator.actions),
            error_code=failure.code if failure else None,
            error_message=describe_failure(failure) if failure else None,
        )
        if not self.runs.end_run(pulse.lease.scope, run.run_id, end):
            raise LeaseLost("the run has already been ended by another holder")
        if has_text:
            publisher.publish(MessagePersisted(message_id=run.assistant_message_id, role="assistant"))
        if failure is not None:
            publisher.publish(RunError(code=failure.code, message=describe_failure(failure)))
        # Free before anyone can hear of the end, so that an immediate next question is not refused.
        publisher.publish(
            Done(stop_reason=ending.stop, usage=ending.usage),
            before_delivery=lambda: self._release(pulse, ending),
        )
        logger.info("run_ended", extra=describe_run(run, end, self.model.choice))
        measures = measure_end(run, end, first_text_at=narrator.first_text_at)
        self.metrics.record(
            measures, profile=run.profile, model=self.model.choice.model, shape=derive_shape(end)
        )

    def _release(self, pulse: Pulse, ending: _Ending) -> None:
        self.admissions.settle(pulse.lease, spent=ending.spent)

"""Ending: what was said is kept, the reader is told, and the conversation is free, once and in this order."""

import logging
from dataclasses import dataclass, field

from equerry.channel.events import Citations, Done, MessagePersisted, RunError, StopReason
from equerry.channel.publisher import TEXT_INTERVAL_S, Publisher
from equerry.domain.citations import CitationFilter
from equerry.domain.conversations import Run, RunEnd
from equerry.domain.evidence import Evidence
from equerry.domain.leases import Lease, LeaseLost
from equerry.domain.pricing import LISTED, Cost, Prices
from equerry.domain.redaction import scrub_text
from equerry.domain.retrieval import MOST_CHARACTERS
from equerry.engine.model import ModelChoice
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, describe_failure
from equerry.kernel.kinds import result
from equerry.kernel.usage import Usage
from equerry.ports.admission import AdmissionPort
from equerry.ports.delivery import ReplayLogPort
from equerry.ports.metrics import MetricPort
from equerry.ports.records import RunRecordPort
from equerry.ports.transcripts import RunPort
from equerry.services.delivery import DeliveryService
from equerry.services.measuring import derive_shape, measure_end
from equerry.services.narration import Narrator
from equerry.services.pulse import Pulse
from equerry.services.recording import describe_outcome, save_report, watch_volume
from equerry.services.telemetry import describe_run

logger = logging.getLogger(__name__)


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run stops.

    Attributes:
        spent: what its budget is charged; None if nobody can know.
        complete: False when a round broke off whose tokens `usage` cannot hold.
    """

    stop: StopReason
    usage: Usage = field(default_factory=Usage)
    failure: EquerryError | None = None
    spent: int | None
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingService:
    """Opens what tells a run's story and closes it, whoever answers: a model, or the entry point in place.

    Attributes:
        most_retrieved_characters: what one person may have in 24 hours before operators are told.
    """

    runs: RunPort
    records: RunRecordPort
    admissions: AdmissionPort
    log: ReplayLogPort
    delivery: DeliveryService
    metrics: MetricPort
    clock: Clock
    most_retrieved_characters: int = MOST_CHARACTERS
    prices: Prices = LISTED

    def open_narrator(self, run: Run, lease: Lease, *, text_interval_s: float = TEXT_INTERVAL_S) -> Narrator:
        """Return what tells the run's story, from where its log ends."""
        last = self.log.find_last(run.run_id)
        publisher = Publisher(
            run_id=run.run_id,
            conversation_id=run.conversation_id,
            broadcaster=self.delivery.build_broadcaster(lease.scope, run.conversation_id),
            clock=self.clock,
            last_seq=last.seq if last else 0,
            text_interval_s=text_interval_s,
        )
        return Narrator(
            publisher=publisher,
            citations=CitationFilter(Evidence(run.run_id)),
            on_first_round=lambda: self.runs.mark_provider_started(lease.scope, run.run_id),
            save_step=lambda step: self.records.save_step(lease.scope, run.run_id, step),
            mark_projects=lambda projects: self.runs.mark_projects(lease.scope, run.run_id, projects),
        )

    def finish(
        self, run: Run, pulse: Pulse, narrator: Narrator, ending: Ending, *, model: ModelChoice | None
    ) -> None:
        """Persist the answer and end the run: citations, answer, error, and the one `done`.

        Args:
            model: which answered; None for an answer that needed none.

        Raises:
            LeaseLost, EnvelopeExists: another holder has the run; nothing more was written.
        """
        if pulse.lost:
            raise LeaseLost("the run was taken over; its new holder ends it")
        narrator.finish()
        failure = ending.failure
        told = scrub_text(describe_failure(failure)) if failure else None
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
            actions=narrator.actions,
            error_code=failure.code if failure else None,
            error_message=told,
            first_text_at=narrator.first_text_at,
            outcome=describe_outcome(narrator, model),
            complete=ending.complete,
            cost=self._find_cost(model, narrator, ending.usage),
            model=narrator.served_by,
            project_ids=narrator.project_ids,
        )
        if not self.runs.end_run(pulse.lease.scope, run.run_id, end):
            raise LeaseLost("the run has already been ended by another holder")
        try:
            self._tell_end(run, pulse, publisher, end, spent=ending.spent)
        finally:
            # A settler may have written the log's end meanwhile: it counts only what it ended itself.
            self._count(run, pulse, end, model)

    def _tell_end(
        self, run: Run, pulse: Pulse, publisher: Publisher, end: RunEnd, *, spent: int | None
    ) -> None:
        if end.text:
            publisher.publish(MessagePersisted(message_id=run.assistant_message_id, role="assistant"))
        if end.error_code is not None:
            publisher.publish(RunError(code=end.error_code, message=end.error_message or ""))
        # Free before anyone can hear of the end, so that an immediate next question is not refused.
        publisher.publish(
            Done(stop_reason=end.stop_reason, usage=end.usage),
            before_delivery=lambda: self._release(pulse, spent),
        )
        save_report(self.records, pulse.lease.scope, run.run_id, publisher.report)

    def _count(self, run: Run, pulse: Pulse, end: RunEnd, model: ModelChoice | None) -> None:
        watch_volume(self.records, self.metrics, pulse.lease.scope, end, most=self.most_retrieved_characters)
        logger.info("run_ended", extra=describe_run(run, end, model))
        served = end.model or model
        measures = measure_end(run, end, first_text_at=end.first_text_at)
        self.metrics.record(
            measures, profile=run.profile, model=served.model if served else None, shape=derive_shape(end)
        )

    def _release(self, pulse: Pulse, spent: int | None) -> None:
        self.admissions.settle(pulse.lease, spent=spent)

    def _find_cost(self, model: ModelChoice | None, narrator: Narrator, usage: Usage) -> Cost | None:
        """Price each round by the model that played it; what told no usage has no price, which is not 0."""
        if narrator.metered:
            return self.prices.find_total((served or model, taken) for served, taken in narrator.metered)
        return None if narrator.rounds else self.prices.find_cost(model, usage)

"""Ends what a dead worker left, visibly and once."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from equerry.channel.envelope import Envelope
from equerry.channel.events import Citations, Done, MessagePersisted, RunError, StopReason
from equerry.channel.marker import Marker
from equerry.channel.publisher import Publisher
from equerry.channel.report import DeliveryReport
from equerry.domain.citations import strip_markers
from equerry.domain.conversations import Run, RunEnd, accept_run
from equerry.domain.leases import Lease, LeaseLost
from equerry.domain.pricing import LISTED
from equerry.domain.principal import Scope
from equerry.kernel.clock import Clock
from equerry.kernel.errors import NotFound, Unavailable
from equerry.kernel.identifiers import RunId
from equerry.kernel.usage import Usage
from equerry.ports.admission import AdmissionPort
from equerry.ports.delivery import EnvelopeExists, ReplayLogPort
from equerry.ports.interrupts import InterruptPort
from equerry.ports.leases import LeasePort
from equerry.ports.metrics import MetricPort
from equerry.ports.records import RunRecordPort
from equerry.ports.transcripts import RunPort
from equerry.services.delivery import DeliveryService
from equerry.services.measuring import measure_end
from equerry.services.recording import save_report

logger = logging.getLogger(__name__)

INTERRUPTED = "The assistant was interrupted before it finished. Ask again."
INTERRUPTED_LATE = "The assistant was interrupted before it finished. What it had written is kept; ask again."
SETTLING_S = 30
"""A settler that dies as well is followed by another after this long."""
_PAGE = 500
_CONTESTED_ATTEMPTS = 5
_UNCOUNTED: frozenset[StopReason | None] = frozenset({"cancelled", "error", "interrupted"})
"""A run that stopped so may have broken off a round, whose tokens no provider reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryService:
    """Settles leases whose holder is dead or has already ended its run; every step can be repeated."""

    runs: RunPort
    records: RunRecordPort
    leases: LeasePort
    admissions: AdmissionPort
    interrupts: InterruptPort
    log: ReplayLogPort
    delivery: DeliveryService
    metrics: MetricPort
    clock: Clock

    def settle_lapsed(self, *, limit: int = 100) -> int:
        """End the runs of up to `limit` lapsed leases; returns how many conversations are free again.

        A lease that cannot be settled keeps none of the others waiting.

        Raises:
            Exception: the first of those met, after every lease was tried.
        """
        settled, failures = 0, list[Exception]()
        for lease in self.leases.list_lapsed(now=self.clock.now(), limit=limit):
            try:
                settled += self.settle(lease)
            except Exception as failure:  # noqa: BLE001  # raised below
                logger.warning("lease_not_settled", extra={"run_id": lease.run_id, "error": str(failure)})
                failures.append(failure)
        if failures:
            raise failures[0]
        return settled

    def settle(self, lease: Lease) -> bool:
        """Free a conversation whose run has ended, or whose holder is dead.

        Returns whether it is free, also if somebody else freed it meanwhile: False, changing nothing, if the
        holder may still be at work, or another settler is.
        """
        if lease.is_lapsed(self.clock.now()):
            return self._settle_lapsed(lease)
        run = self._find_run(lease)
        if run is None or run.status != "ended":
            return False
        self.complete_log(lease.scope, run)
        return self.release(lease, run) or self._is_free(lease)

    def _settle_lapsed(self, lease: Lease) -> bool:
        """Take the place of a dead holder, so that it can write nothing should it wake, and end its run."""
        now = self.clock.now()
        until = now + timedelta(seconds=SETTLING_S)
        try:
            claimed = self.leases.claim(lease.conversation_id, lease.run_id, now=now, until=until)
        except LeaseLost:
            return self._is_free(lease)
        run = self._find_run(claimed)
        if run is None:
            # The entry point died before it wrote the turn: nobody was told of this run.
            return self.release(claimed, None)
        if run.status != "ended":
            self.end_interrupted(claimed, run)
            return True
        self.complete_log(claimed.scope, run)
        return self.release(claimed, run)

    def _is_free(self, lease: Lease) -> bool:
        held = self.leases.find_lease(lease.conversation_id)
        return held is None or held.run_id != lease.run_id

    def _find_run(self, lease: Lease) -> Run | None:
        try:
            return self.runs.fetch_run(lease.scope, lease.run_id)
        except NotFound:
            return None

    def settle_orphan(self, scope: Scope, run: Run) -> bool:
        """End a run that no lease stands for any more; False if it has ended, or its lease will see to it.

        A lease is there from before a run is written until after it has ended, so a run without one lost it
        with its store, and neither queue nor reaper will bring it back. Its tokens leave with their hour.
        """
        if run.status == "ended":
            return False
        lease = self.leases.find_lease(run.conversation_id)
        if lease is not None and lease.run_id == run.run_id:
            return False
        self._end(scope, run)
        return True

    def end_unclaimed(self, run: Run) -> bool:
        """End, as cancelled, a run that waits for a worker; False, changing nothing, if one has taken it."""
        held = self.leases.find_lease(run.conversation_id)
        if held is None or held.run_id != run.run_id or held.token > 0:
            return False
        now = self.clock.now()
        try:
            claimed = self.leases.claim(
                held.conversation_id, held.run_id, now=now, until=now + timedelta(seconds=SETTLING_S)
            )
        except LeaseLost:
            return False
        # `accepted` and `done` are all there is to tell.
        end = RunEnd(stop_reason="cancelled", usage=Usage(), last_seq=2, ended_at=self.clock.now())
        if self.runs.end_run(claimed.scope, run.run_id, end):
            self.metrics.record(measure_end(run, end), profile=run.profile)
        ended = self.runs.fetch_run(claimed.scope, run.run_id)
        self.complete_log(claimed.scope, ended)
        self.release(claimed, ended)
        self.interrupts.clear_interrupt(run.run_id)
        return True

    def end_interrupted(self, lease: Lease, run: Run) -> None:
        """End a run whose worker is gone: what was streamed is kept, and the reader is told."""
        self.release(lease, self._end(lease.scope, run))
        self.interrupts.clear_interrupt(run.run_id)

    def has_text(self, run_id: RunId) -> bool:
        """Whether a reader may have seen some of the run's answer."""
        return bool(self._read_partial(run_id)[0])

    def _end(self, scope: Scope, run: Run) -> Run:
        logger.warning("run_interrupted", extra={"run_id": run.run_id})
        text, last_seq = self._read_partial(run.run_id)
        end = RunEnd(
            stop_reason="interrupted",
            usage=run.usage,
            last_seq=(last_seq or 1) + 2 + bool(text),
            ended_at=self.clock.now(),
            text=text,
            complete=not run.provider_started,
            cost=None if run.provider_started else LISTED.find_cost(run.model, run.usage),
            error_code="interrupted",
            error_message=INTERRUPTED_LATE if text else INTERRUPTED,
        )
        if self.runs.end_run(scope, run.run_id, end):
            model = run.model.model if run.model else None
            self.metrics.record(measure_end(run, end), profile=run.profile, model=model)
        ended = self.runs.fetch_run(scope, run.run_id)
        self.complete_log(scope, ended)
        return ended

    def release(self, lease: Lease, run: Run | None) -> bool:
        """Free the conversation of an ended run, or of one that was never written, and settle its tokens."""
        return self.admissions.settle(lease, spent=_find_spent(run))

    def complete_log(self, scope: Scope, run: Run) -> None:
        """Write what the log of an ended run still lacks: the answer's anchor, the error, the one `done`.

        If somebody else writes at the same time, one of them gets each place. That may be another settler,
        or the run's own worker with a last text: only the second leaves the log without its end, so what is
        lacking is looked up again. The run's record is told how what was written here was delivered.

        Raises:
            Unavailable: others kept writing; the next settler goes on.
        """
        for _ in range(_CONTESTED_ATTEMPTS):
            last = self.log.find_last(run.run_id)
            if last is not None and last.is_terminal:
                return
            try:
                report = self._publish_rest(scope, run, last)
            except EnvelopeExists:
                logger.info("run_log_contested", extra={"run_id": run.run_id})
            else:
                save_report(self.records, scope, run.run_id, report)
                return
        raise Unavailable(f"another writer holds the log of run {run.run_id}")

    def _publish_rest(self, scope: Scope, run: Run, last: Envelope | None) -> DeliveryReport:
        publisher = Publisher(
            run_id=run.run_id,
            conversation_id=run.conversation_id,
            broadcaster=self.delivery.build_broadcaster(scope, run.conversation_id),
            clock=self.clock,
            last_seq=last.seq if last else 0,
        )
        written = last.type if last else None
        if written is None:
            publisher.publish(accept_run(run))
        if written not in ("message", "error"):
            self._publish_answer(scope, run, publisher, with_citations=written != "citations")
        if run.error_code and written != "error":
            publisher.publish(RunError(code=run.error_code, message=run.error_message or INTERRUPTED))
        stop_reason: StopReason = run.stop_reason or "interrupted"
        publisher.publish(Done(stop_reason=stop_reason, usage=run.usage))
        return publisher.report

    def _publish_answer(self, scope: Scope, run: Run, publisher: Publisher, *, with_citations: bool) -> None:
        answer = self.runs.find_answer(scope, run.run_id)
        if answer is None:
            return
        if answer.citations and with_citations:
            publisher.publish(Citations(message_id=answer.message_id, refs=answer.citations))
        publisher.publish(MessagePersisted(message_id=answer.message_id, role="assistant"))

    def _read_partial(self, run_id: RunId) -> tuple[str, int]:
        """Return what the log holds of the answer, without citation markers, and its last seq."""
        text, marker = "", Marker(run_id)
        while page := self.log.read(marker, limit=_PAGE):
            for envelope in page:
                if envelope.type == "restart":
                    text = str(envelope.payload.get("text", ""))
                elif envelope.type == "token":
                    text += str(envelope.payload["delta"])
            marker = Marker(run_id, page[-1].seq)
        return strip_markers(text).strip(), marker.seq


def _find_spent(run: Run | None) -> int | None:
    """Return what an ended run spent; None if a provider was asked and nobody heard what it counted."""
    if run is None or not run.provider_started:
        return 0
    return None if run.stop_reason in _UNCOUNTED else run.usage.tokens

"""A worker's side of a turn: claim the run, and see that it ends once whatever happens."""

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from equerry.domain.conversations import Run
from equerry.domain.leases import Lease, LeaseLost
from equerry.kernel.clock import Clock
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.ports.delivery import EnvelopeExists
from equerry.ports.interrupts import InterruptPort
from equerry.ports.leases import LeasePort
from equerry.ports.transcripts import RunPort
from equerry.services.answering import AnswerService
from equerry.services.pulse import ALIVE_S, PulseService
from equerry.services.recovery import RecoveryService

logger = logging.getLogger(__name__)

RunHandling = Literal["answered", "settled", "not_ours"]
"""What became of a delivered run: this worker ended it, ended what another left, or left it alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunService:
    """Takes runs off the queue; the same run delivered twice is executed once."""

    runs: RunPort
    leases: LeasePort
    interrupts: InterruptPort
    answers: AnswerService
    recovery: RecoveryService
    pulses: PulseService
    clock: Clock

    def execute(
        self, run_id: RunId, conversation_id: ConversationId, *, receipt: str | None = None
    ) -> RunHandling:
        """Run one accepted turn to its end.

        A run whose holder died is resumed if no provider was asked and nothing was said yet, and otherwise
        ended as interrupted.

        Raises:
            Unavailable: a store does not answer; deliver the message again.
        """
        # Before anything else: until then a death blocks the conversation's queue for the queue's own time.
        self.pulses.hide(receipt)
        try:
            lease = self._claim(run_id, conversation_id)
        except LeaseLost:
            logger.info("run_not_ours", extra={"run_id": run_id})
            return "not_ours"
        try:
            run = self.runs.fetch_run(lease.scope, run_id)
        except NotFound:
            self.recovery.release(lease, None)
            return "settled"
        if run.status == "ended":
            self.recovery.complete_log(lease.scope, run)
            self.recovery.release(lease, run)
            return "settled"
        if run.provider_started or self._has_spoken(run):
            self.recovery.end_interrupted(lease, run)
            return "settled"
        try:
            with self.pulses.beat(lease, receipt) as pulse:
                self.answers.answer(run, pulse)
        except (LeaseLost, EnvelopeExists):
            # Whoever took over ends the run; anything written from here would be a second voice.
            logger.warning("run_lost", extra={"run_id": run_id})
            return "not_ours"
        self.interrupts.clear_interrupt(run_id)
        return "answered"

    def _has_spoken(self, run: Run) -> bool:
        """Whether its entry point, which then died, had begun to answer it in place."""
        return run.mode == "inline" and run.status == "running" and self.recovery.has_text(run.run_id)

    def _claim(self, run_id: RunId, conversation_id: ConversationId) -> Lease:
        now = self.clock.now()
        return self.leases.claim(conversation_id, run_id, now=now, until=now + timedelta(seconds=ALIVE_S))

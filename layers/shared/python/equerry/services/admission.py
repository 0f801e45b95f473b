"""The guard before a turn: what is counted decides, and what stands in the way of a turn is cleared."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from equerry.domain.admission import Admission, AdmissionRequest, AssistantUnavailable
from equerry.domain.budget import DailyLimitReached
from equerry.domain.conversations import Run, RunEnd
from equerry.domain.leases import Lease, LeaseLost, TurnInProgress
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Scope
from equerry.domain.rates import RateLimited
from equerry.domain.submissions import Submission, SubmissionInProgress
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, NotFound, Unavailable
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.kernel.usage import Usage
from equerry.ports.admission import AdmissionPort
from equerry.ports.interrupts import InterruptPort
from equerry.ports.leases import LeasePort
from equerry.ports.metrics import MetricPort
from equerry.ports.transcripts import RunPort
from equerry.services.settlement import Settlement

logger = logging.getLogger(__name__)

QUEUE_LEASE_S = 330
"""How long an accepted run may wait for a worker: the workers' time-out of 300 s and a margin."""
ACCEPTING_S = 60
"""An entry point that has not written its turn after this long is dead: the gateway gives it 29 s."""
STOPPING_S = 8.0
"""How long a question waits for the run before it, which was asked to stop, to let go of the conversation."""
_LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionService:
    """Admits turns, each question once."""

    admissions: AdmissionPort
    leases: LeasePort
    runs: RunPort
    recovery: Settlement
    interrupts: InterruptPort
    limits: TurnLimits
    metrics: MetricPort
    clock: Clock

    def admit(
        self, scope: Scope, run: Run, submission: Submission | None, superseded: RunId | None = None
    ) -> Admission:
        """Count a turn and take its conversation.

        Args:
            superseded: the run that `submission` stands for and that turned out never to have begun.

        Raises:
            Every refusal of `equerry.domain.admission.judge`, the first in its order.
            AssistantUnavailable: the store of what is counted does not answer; nothing begins without it.
        """
        request = AdmissionRequest(
            scope=scope,
            conversation_id=run.conversation_id,
            run_id=run.run_id,
            now=run.created_at,
            until=run.created_at + timedelta(seconds=QUEUE_LEASE_S),
            limits=self.limits,
            submission=submission,
            superseded=superseded,
        )
        try:
            return self.admissions.admit(request)
        except RateLimited:
            self.metrics.record({"RateLimited": 1}, profile=run.profile)
            raise
        except DailyLimitReached:
            self.metrics.record({"BudgetExhausted": 1}, profile=run.profile)
            raise
        except Unavailable as out:
            logger.warning("admission_unavailable", extra={"run_id": run.run_id})
            raise AssistantUnavailable("the assistant cannot take questions right now; ask again") from out

    def clear(self, busy: TurnInProgress) -> None:
        """See that a conversation is free: settle what a dead run left, wait for one that was told to stop.

        Raises:
            TurnInProgress: `busy`, because its run is alive and means to go on, or stops too slowly.
        """
        # Asked first: a run that ends while it is looked at takes its flag along.
        stops = self.interrupts.is_interrupted(busy.held.run_id)
        if self.recovery.settle(busy.held):
            return
        if not stops:
            raise busy
        deadline_s = self.clock.monotonic_s() + STOPPING_S
        while self._is_held(busy.held):
            if self.clock.monotonic_s() >= deadline_s:
                raise busy
            self.clock.sleep(_LOOK_EVERY_S)

    def withdraw(self, scope: Scope, run: Run, lease: Lease) -> bool:
        """Give the conversation back after a failure, without leaving a run that nobody will end.

        Returns False, changing nothing, if a worker has taken the run, or has ended it by now.
        """
        now = self.clock.now()
        try:
            # First of all: from here on no worker can begin what is being ended.
            lease = self.leases.claim(
                lease.conversation_id, run.run_id, now=now, until=now + timedelta(seconds=ACCEPTING_S)
            )
            with suppress(NotFound):  # the turn was never written
                self.runs.end_run(scope, run.run_id, _not_queued(self.clock.now()))
            self.admissions.settle(lease, spent=0)
        except LeaseLost:
            return False
        except EquerryError:
            logger.warning("turn_not_withdrawn", extra={"run_id": run.run_id})
            self._let_lapse(lease)
        return True

    def find_first(
        self, scope: Scope, conversation_id: ConversationId, repeated: SubmissionInProgress
    ) -> Run | None:
        """Return the run that a key stands for; None if it never began, so that another one may.

        Raises:
            SubmissionInProgress: it may still begin.
        """
        first = self._find_written(scope, conversation_id, repeated)
        return None if first is None or _never_began(first) else first

    def _is_held(self, lease: Lease) -> bool:
        held = self.leases.find_lease(lease.conversation_id)
        return held is not None and held.run_id == lease.run_id

    def _find_run(self, scope: Scope, run_id: RunId) -> Run | None:
        try:
            return self.runs.fetch_run(scope, run_id)
        except NotFound:
            return None

    def _find_written(
        self, scope: Scope, conversation_id: ConversationId, repeated: SubmissionInProgress
    ) -> Run | None:
        """Return the run that a key stands for; None if its entry point died, or gave up, before it wrote it.

        Raises:
            SubmissionInProgress: it may still be written.
        """
        claim = repeated.first
        if (found := self._find_run(scope, claim.run_id)) is not None:
            return found
        held = self.leases.find_lease(conversation_id)
        if held is not None and held.run_id == claim.run_id:
            self._take_back(held, repeated)
        # A lease that is gone by now says that the turn was written before, or never will be.
        return self._find_run(scope, claim.run_id)

    def _take_back(self, held: Lease, repeated: SubmissionInProgress) -> None:
        is_alive = self.clock.now() - repeated.first.claimed_at < timedelta(seconds=ACCEPTING_S)
        if is_alive or not self.admissions.settle(held, spent=0):
            raise repeated
        logger.warning("submission_abandoned", extra={"run_id": held.run_id})

    def _let_lapse(self, lease: Lease) -> None:
        """Make the next turn, or the reaper, settle the lease instead of waiting for its end."""
        try:
            self.leases.renew(lease, until=self.clock.now())
        except EquerryError:
            logger.warning("lease_left_to_lapse", extra={"run_id": lease.run_id})


def _never_began(run: Run) -> bool:
    """Whether its own entry point ended it, because it could not queue it: the caller is to ask again."""
    return run.status == "ended" and run.last_seq == 0


def _not_queued(at: datetime) -> RunEnd:
    return RunEnd(
        stop_reason="error",
        usage=Usage(),
        last_seq=0,
        ended_at=at,
        error_code="service_unavailable",
        error_message="The question could not be handed to a worker. Send it again.",
    )

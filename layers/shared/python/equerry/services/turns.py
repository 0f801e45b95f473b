"""Turns are accepted here: the conversation is taken, the question kept, the run handed to the workers."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from equerry.channel.events import ExecutionMode
from equerry.domain.conversations import Run, RunEnd, TranscriptMessage
from equerry.domain.execution import choose_mode
from equerry.domain.leases import Lease, TurnInProgress
from equerry.domain.principal import Scope
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, InvalidInput, NotFound
from equerry.kernel.identifiers import ConversationId, MessageId, NewIdentifier, RunId
from equerry.kernel.kinds import result
from equerry.kernel.usage import Usage
from equerry.ports.interrupts import InterruptPort
from equerry.ports.leases import LeasePort
from equerry.ports.queue import QueuePort
from equerry.ports.transcripts import RunPort, TranscriptPort
from equerry.services.recovery import RecoveryService

logger = logging.getLogger(__name__)

QUEUE_LEASE_S = 330
"""How long an accepted run may wait for a worker: the workers' time-out of 300 s and a margin."""
MAX_QUESTION_CHARS = 8_000


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A run was accepted; its answer arrives on the channel."""

    run_id: RunId
    conversation_id: ConversationId
    user_message_id: MessageId
    assistant_message_id: MessageId
    mode: ExecutionMode


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnService:
    """Accepts turns and asks running ones to stop."""

    transcripts: TranscriptPort
    runs: RunPort
    leases: LeasePort
    interrupts: InterruptPort
    queue: QueuePort
    recovery: RecoveryService
    clock: Clock
    new_id: NewIdentifier

    def submit(self, scope: Scope, conversation_id: ConversationId, text: str) -> Acceptance:
        """Accept a turn.

        Raises:
            InvalidInput: blank, or longer than 8,000 characters.
            NotFound: no such conversation for this scope.
            TurnInProgress: a run that is alive has the conversation.
            Unavailable: nothing was accepted; sending it again is safe.
        """
        question = _check_question(text)
        conversation = self.transcripts.fetch_conversation(scope, conversation_id)
        mode, reason = choose_mode()
        run = Run(
            run_id=RunId(self.new_id()),
            conversation_id=conversation_id,
            user_message_id=MessageId(self.new_id()),
            assistant_message_id=MessageId(self.new_id()),
            profile=conversation.profile,
            mode=mode,
            mode_reason=reason,
            created_at=self.clock.now(),
        )
        lease = self._take(scope, run)
        try:
            self._append(scope, run, question)
            self.queue.enqueue_run(run.run_id, run.conversation_id)
        except BaseException:
            self._abandon(scope, run, lease)
            raise
        logger.info("turn_accepted", extra={"run_id": run.run_id, "mode": mode, "mode_reason": reason})
        return Acceptance(
            run_id=run.run_id,
            conversation_id=conversation_id,
            user_message_id=run.user_message_id,
            assistant_message_id=run.assistant_message_id,
            mode=mode,
        )

    def cancel(self, scope: Scope, run_id: RunId) -> Run:
        """Ask a run to stop; one that has ended stays as it is.

        Raises:
            NotFound: unknown, or not this scope's.
        """
        run = self.runs.fetch_run(scope, run_id)
        if run.status != "ended":
            self.interrupts.request_interrupt(run_id)
        return run

    def _take(self, scope: Scope, run: Run) -> Lease:
        """Take the conversation, settling first what a dead or finished run left there."""
        until = run.created_at + timedelta(seconds=QUEUE_LEASE_S)
        try:
            return self.leases.acquire(run.conversation_id, run.run_id, scope, until=until)
        except TurnInProgress as busy:
            if not self.recovery.settle(busy.held):
                raise
        return self.leases.acquire(run.conversation_id, run.run_id, scope, until=until)

    def _append(self, scope: Scope, run: Run, question: str) -> None:
        said = TranscriptMessage(
            message_id=run.user_message_id,
            role="user",
            text=question,
            run_id=run.run_id,
            created_at=run.created_at,
        )
        self.transcripts.append_turn(scope, run, said)

    def _abandon(self, scope: Scope, run: Run, lease: Lease) -> None:
        """Give the conversation back after a refusal, without leaving a run that nobody will end."""
        try:
            with suppress(NotFound):  # the turn was never written
                self.runs.end_run(scope, run.run_id, _not_queued(self.clock))
            self.leases.release(lease)
        except EquerryError:
            logger.warning("turn_not_abandoned", extra={"run_id": run.run_id})
            self._let_lapse(lease)

    def _let_lapse(self, lease: Lease) -> None:
        """Make the next turn, or the reaper, settle the lease instead of waiting for its end."""
        try:
            self.leases.renew(lease, until=self.clock.now())
        except EquerryError:
            logger.warning("lease_left_to_lapse", extra={"run_id": lease.run_id})


def _check_question(text: str) -> str:
    question = text.strip()
    if not question:
        raise InvalidInput("text must not be blank", field="text")
    if len(question) > MAX_QUESTION_CHARS:
        raise InvalidInput(
            f"text must be at most {MAX_QUESTION_CHARS} characters, got {len(question)}", field="text"
        )
    return question


def _not_queued(clock: Clock) -> RunEnd:
    return RunEnd(
        stop_reason="error",
        usage=Usage(),
        last_seq=0,
        ended_at=clock.now(),
        error_code="service_unavailable",
        error_message="The question could not be handed to a worker. Send it again.",
    )

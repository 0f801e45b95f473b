"""Turns are accepted here: the conversation is taken, the question kept, the run handed to the workers."""

import logging
from contextlib import suppress
from dataclasses import dataclass

from equerry.channel.events import ExecutionMode
from equerry.domain.conversations import Conversation, Run, RunEnd, TranscriptMessage
from equerry.domain.execution import choose_mode
from equerry.domain.leases import Lease
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Scope
from equerry.domain.rates import RateStanding
from equerry.domain.submissions import parse_submission
from equerry.domain.switches import AssistantDisabled
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, InvalidInput, NotFound, TooLarge
from equerry.kernel.identifiers import ConversationId, MessageId, NewIdentifier, RunId
from equerry.kernel.kinds import result
from equerry.kernel.usage import Usage
from equerry.ports.admission import AdmissionPort
from equerry.ports.interrupts import InterruptPort
from equerry.ports.leases import LeasePort
from equerry.ports.queue import QueuePort
from equerry.ports.switches import SwitchPort
from equerry.ports.transcripts import RunPort, TranscriptPort
from equerry.services.admission import AdmissionService

logger = logging.getLogger(__name__)


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A run was accepted; its answer arrives on the channel.

    Attributes:
        standings: what is left of each rate; none for a question that was accepted before.
    """

    run_id: RunId
    conversation_id: ConversationId
    user_message_id: MessageId
    assistant_message_id: MessageId
    mode: ExecutionMode
    standings: tuple[RateStanding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnService:
    """Accepts turns and asks running ones to stop."""

    transcripts: TranscriptPort
    runs: RunPort
    leases: LeasePort
    admissions: AdmissionPort
    interrupts: InterruptPort
    queue: QueuePort
    switch: SwitchPort
    guard: AdmissionService
    clock: Clock
    new_id: NewIdentifier

    def submit(
        self, scope: Scope, conversation_id: ConversationId, text: str, *, key: str | None = None
    ) -> Acceptance:
        """Accept a turn; sent again under the same `key`, the same turn.

        Raises, in this order:
            AssistantDisabled: an operator has turned the assistant off.
            NotFound: no such conversation for this scope.
            InvalidInput: blank, or the key is malformed.
            TooLarge: longer than the limit.
            KeyReused: the key stands for another text.
            SubmissionInProgress: the same question is being accepted right now.
            RateLimited: too many turns of the person, or of the organisation, in the last minute.
            DailyLimitReached: the organisation has too few tokens left.
            TurnInProgress: a run that is alive has the conversation.
            AssistantUnavailable, Unavailable: nothing was accepted; sending it again is safe.
        """
        self.require_enabled()
        conversation = self.transcripts.fetch_conversation(scope, conversation_id)
        question = _check_question(text, self.guard.limits)
        submission = None if key is None else parse_submission(key, scope, conversation_id, question)
        run = self._build_run(conversation)
        admitted = self.guard.admit(scope, run, submission)
        if isinstance(admitted, Run):
            return self._repeat(admitted)
        try:
            self._append(scope, run, question)
            self.queue.enqueue_run(run.run_id, run.conversation_id)
        except BaseException:
            self._abandon(scope, run, admitted.lease)
            raise
        logger.info(
            "turn_accepted",
            extra={"run_id": run.run_id, "mode": run.mode, "mode_reason": run.mode_reason},
        )
        return _accept(run, admitted.standings)

    def is_enabled(self) -> bool:
        """Whether turns are accepted at all, which is what `submit` goes by."""
        return self.switch.is_on()

    def require_enabled(self) -> None:
        """Raise AssistantDisabled unless turns are accepted."""
        if not self.is_enabled():
            raise AssistantDisabled

    def cancel(self, scope: Scope, run_id: RunId) -> Run:
        """Ask a run to stop; one that has ended stays as it is.

        Raises:
            NotFound: unknown, or not this scope's.
        """
        run = self.runs.fetch_run(scope, run_id)
        if run.status != "ended":
            self.interrupts.request_interrupt(run_id)
        return run

    def _build_run(self, conversation: Conversation) -> Run:
        mode, reason = choose_mode()
        return Run(
            run_id=RunId(self.new_id()),
            conversation_id=conversation.conversation_id,
            user_message_id=MessageId(self.new_id()),
            assistant_message_id=MessageId(self.new_id()),
            profile=conversation.profile,
            mode=mode,
            mode_reason=reason,
            created_at=self.clock.now(),
        )

    def _repeat(self, first: Run) -> Acceptance:
        """Acknowledge the run that a question began before; whoever began it may have died on the way."""
        if first.status == "queued":
            self.queue.enqueue_run(first.run_id, first.conversation_id)
        logger.info("turn_repeated", extra={"run_id": first.run_id})
        return _accept(first, ())

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
            self.admissions.settle(lease, spent=0)
        except EquerryError:
            logger.warning("turn_not_abandoned", extra={"run_id": run.run_id})
            self._let_lapse(lease)

    def _let_lapse(self, lease: Lease) -> None:
        """Make the next turn, or the reaper, settle the lease instead of waiting for its end."""
        try:
            self.leases.renew(lease, until=self.clock.now())
        except EquerryError:
            logger.warning("lease_left_to_lapse", extra={"run_id": lease.run_id})


def _accept(run: Run, standings: tuple[RateStanding, ...]) -> Acceptance:
    return Acceptance(
        run_id=run.run_id,
        conversation_id=run.conversation_id,
        user_message_id=run.user_message_id,
        assistant_message_id=run.assistant_message_id,
        mode=run.mode,
        standings=standings,
    )


def _check_question(text: str, limits: TurnLimits) -> str:
    question = text.strip()
    if not question:
        raise InvalidInput("text must not be blank", field="text")
    if len(question) > limits.message_chars:
        raise TooLarge(f"text must be at most {limits.message_chars} characters, got {len(question)}")
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

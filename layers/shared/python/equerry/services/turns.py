"""Turns are accepted here: each is judged, its question kept, and its run handed to the workers."""

import logging
from dataclasses import dataclass, replace

from equerry.channel.events import ExecutionMode
from equerry.domain.conversations import Conversation, Run, TranscriptMessage
from equerry.domain.execution import choose_mode
from equerry.domain.intents import Classification
from equerry.domain.leases import TurnInProgress
from equerry.domain.limits import TurnLimits
from equerry.domain.opening import OpenedTurn, Premises
from equerry.domain.principal import Scope
from equerry.domain.profiles import Profile
from equerry.domain.rates import RateStanding
from equerry.domain.submissions import Submission, SubmissionInProgress, parse_submission
from equerry.domain.switches import AssistantDisabled
from equerry.domain.tenancy import Tenancy
from equerry.domain.turn_context import TurnContext, derive_context
from equerry.kernel.clock import Clock
from equerry.kernel.errors import InvalidInput, NotFound, TooLarge, Unavailable
from equerry.kernel.identifiers import ConversationId, MessageId, NewIdentifier, RunId
from equerry.kernel.kinds import message, result
from equerry.ports.profiles import ProfilePort
from equerry.ports.queue import QueuePort
from equerry.ports.switches import SwitchPort
from equerry.ports.transcripts import TranscriptPort
from equerry.services.admission import AdmissionService
from equerry.services.fast_path import FastPathService
from equerry.services.stopping import StoppingService

logger = logging.getLogger(__name__)

_OBSTACLES = 3
"""How often what stands in a turn's way is cleared before the caller is told."""


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What `submit` was given."""

    text: str
    key: str | None
    context: TurnContext | None
    surface: str | None


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
    """Accepts turns and asks running ones to stop.

    Attributes:
        unlisted: the standing of an organisation of which nobody has said anything.
        fast_path: answers what needs no model; None: every turn goes to the workers.
    """

    transcripts: TranscriptPort
    profiles: ProfilePort
    queue: QueuePort
    switch: SwitchPort
    guard: AdmissionService
    stops: StoppingService
    unlisted: Tenancy
    clock: Clock
    new_id: NewIdentifier
    fast_path: FastPathService | None = None

    def submit(
        self,
        scope: Scope,
        conversation_id: ConversationId,
        text: str,
        *,
        key: str | None = None,
        context: TurnContext | None = None,
        surface: str | None = None,
    ) -> Acceptance:
        """Accept a turn; a refusal writes nothing and asks no model.

        Args:
            key: what the caller calls the question; sent again under the same key it is the same turn.
            context: what the page says about itself.
            surface: where it is asked, if not where the conversation stands.

        Raises, in this order:
            AssistantDisabled: an operator has turned the assistant off.
            AssistantNotEnabled: the organisation does not have it.
            SurfaceNotAllowed: not for this person, there.
            NotFound: no such conversation for this scope.
            ConversationArchived: it takes no questions any more.
            InvalidInput: blank, or the key is malformed.
            TooLarge: text or context is longer than the limit.
            KeyReused: the key stands for something else.
            SubmissionInProgress: the same question is being accepted right now.
            RateLimited: too many turns of the person, or of the organisation, in the last minute.
            DailyLimitReached: the organisation has too few tokens left.
            TurnInProgress: a run that is alive, and was not asked to stop, has the conversation.
            AssistantUnavailable, Unavailable: nothing was accepted; sending it again is safe.
        """
        self.require_enabled()
        asked = _Question(text=text, key=key, context=context, surface=surface)
        superseded: RunId | None = None
        for _ in range(_OBSTACLES):
            try:
                return self._accept(scope, conversation_id, asked, superseded)
            except TurnInProgress as busy:
                self.guard.clear(busy)
            except SubmissionInProgress as repeated:
                first = self.guard.find_first(scope, conversation_id, repeated)
                if first is not None:
                    return self._repeat(first)
                superseded = repeated.first.run_id
        return self._accept(scope, conversation_id, asked, superseded)

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
        return self.stops.stop(scope, run_id)

    def _accept(
        self, scope: Scope, conversation_id: ConversationId, asked: _Question, superseded: RunId | None
    ) -> Acceptance:
        admitted: list[OpenedTurn] = []

        def open_turn(premises: Premises) -> OpenedTurn:
            opened = self._judge(scope, asked, premises, superseded)
            admitted.append(opened)
            return opened

        try:
            opened = self.transcripts.append_turn(scope, conversation_id, open_turn)
            if not self._answer_in_place(opened):
                self.queue.enqueue_run(opened.run.run_id, conversation_id)
        except BaseException as failure:
            free = [self.guard.withdraw(scope, each.run, each.admission.lease) for each in admitted]
            if all(free) or not isinstance(failure, Unavailable):
                raise
            # The queue took it, and only its answer was lost.
            opened = admitted[free.index(False)]
        run = opened.run
        logger.info(
            "turn_accepted",
            extra={"run_id": run.run_id, "mode": run.mode, "mode_reason": run.mode_reason},
        )
        return _acknowledge(run, opened.admission.standings)

    def _judge(
        self, scope: Scope, asked: _Question, premises: Premises, superseded: RunId | None
    ) -> OpenedTurn:
        """Go through all that can stand against a turn, in the order of `submit`."""
        switches = self.switch.read()
        switches.require_tenant(scope.organisation_id)
        tenancy = premises.tenancy or self.unlisted
        tenancy.require_enabled()
        conversation = premises.conversation
        surface = asked.surface or (conversation.surface if conversation else None)
        if surface is not None:
            tenancy.require_surface(surface)
        if conversation is None:
            raise NotFound("there is no such conversation")
        profile = self.profiles.fetch_profile(conversation.profile)
        surface = surface or conversation.surface
        switches.require_surface(profile.name, surface)
        tenancy.require_profile(profile, surface, scope.role)
        conversation.require_active()
        text = _check_question(asked.text, self.guard.limits)
        context = _check_context(asked.context, profile, self.guard.limits)
        submission = _read_submission(scope, conversation.conversation_id, asked, text)
        run = self._build_run(conversation)
        admission = self.guard.admit(scope, run, submission, superseded)
        taken = self._classify(scope, profile, text, context)
        mode, reason = choose_mode(taken.intent if taken else None)
        question = TranscriptMessage(
            message_id=run.user_message_id,
            role="user",
            text=text,
            run_id=run.run_id,
            created_at=run.created_at,
            context=context,
        )
        run = replace(run, mode=mode, mode_reason=reason)
        return OpenedTurn(run=run, question=question, admission=admission, classification=taken)

    def _classify(
        self, scope: Scope, profile: Profile, text: str, context: TurnContext | None
    ) -> Classification | None:
        if self.fast_path is None:
            return None
        return self.fast_path.classify(scope, profile, text, dict(context.ids) if context else {})

    def _answer_in_place(self, opened: OpenedTurn) -> bool:
        """Answer a turn that needs no model; False if a worker must."""
        taken, run = opened.classification, opened.run
        if self.fast_path is None or taken is None or run.mode != "inline":
            return False
        profile = self.profiles.fetch_profile(run.profile)
        return self.fast_path.answer(run, profile, taken)

    def _build_run(self, conversation: Conversation) -> Run:
        mode, reason = choose_mode(None)
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
        return _acknowledge(first, ())


def _acknowledge(run: Run, standings: tuple[RateStanding, ...]) -> Acceptance:
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


def _check_context(given: TurnContext | None, profile: Profile, limits: TurnLimits) -> TurnContext | None:
    if given is None:
        return None
    given.require_size(limits.message_chars)
    return derive_context(given, profile.routes)


def _read_submission(
    scope: Scope, conversation_id: ConversationId, asked: _Question, text: str
) -> Submission | None:
    if asked.key is None:
        return None
    beside = (asked.context.to_text() if asked.context else "", asked.surface or "")
    return parse_submission(asked.key, scope, conversation_id, text, *(beside if any(beside) else ()))

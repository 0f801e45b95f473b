"""Whether a turn may begin: one judgement over all that is counted, so that the first refusal is told."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from equerry.domain.budget import SpendWindow
from equerry.domain.leases import Lease, TurnInProgress
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Scope
from equerry.domain.rates import RateStanding, RecentTurns
from equerry.domain.submissions import KEPT, KeyReused, Submission, SubmissionClaim, SubmissionInProgress
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.kernel.kinds import message, record, result


class AssistantUnavailable(Unavailable):
    """What counts turns and tokens does not answer, and without it none begins."""

    code = "assistant_unavailable"


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRequest:
    """A turn that wants to begin at `now`.

    Attributes:
        until: how long its lease may wait for a worker.
        submission: what the caller calls it, if anything.
        superseded: the run that `submission` stands for and that turned out never to have begun.
    """

    scope: Scope
    conversation_id: ConversationId
    run_id: RunId
    now: datetime
    until: datetime
    limits: TurnLimits
    submission: Submission | None = None
    superseded: RunId | None = None


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRecord:
    """All that is counted, as one reading of the store found it."""

    user_turns: RecentTurns = field(default_factory=RecentTurns)
    organisation_turns: RecentTurns = field(default_factory=RecentTurns)
    window: SpendWindow = field(default_factory=SpendWindow)
    lease: Lease | None = None
    claim: SubmissionClaim | None = None


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A turn may begin.

    Attributes:
        lease: of its conversation, with the tokens that are reserved for it.
        standings: what is left of each rate, this turn counted.
    """

    lease: Lease
    standings: tuple[RateStanding, ...]


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """An admission and what the store holds after it; None if it is there already."""

    admission: Admission
    after: AdmissionRecord | None


def judge(asked: AdmissionRequest, found: AdmissionRecord) -> Verdict:
    """Let a turn begin, or say the first thing that stands against it; changes nothing.

    Raises, in this order:
        KeyReused: its key stands for another question.
        SubmissionInProgress: its key stands for a run, which may have begun.
        RateLimited: the person's turns, then the organisation's.
        DailyLimitReached: too few tokens are left.
        TurnInProgress: another run has the conversation.
    """
    if found.lease is not None and found.lease.run_id == asked.run_id:
        return Verdict(admission=_admission(asked, found.lease, found), after=None)
    _check_key(asked, found)
    limits, now = asked.limits, asked.now
    found.user_turns.require_room("user", limits.user_turns_per_minute, now)
    found.organisation_turns.require_room("organisation", limits.organisation_turns_per_minute, now)
    reservation = found.window.reserve(limits, now)
    if found.lease is not None:
        raise TurnInProgress(found.lease)
    lease = Lease(
        conversation_id=asked.conversation_id,
        run_id=asked.run_id,
        scope=asked.scope,
        token=0,
        until=asked.until,
        reservation=reservation,
    )
    after = replace(
        found,
        user_turns=found.user_turns.take(now),
        organisation_turns=found.organisation_turns.take(now),
        window=found.window.charge(reservation.hour, reservation.tokens),
        lease=lease,
        claim=_claim(asked) or found.claim,
    )
    return Verdict(admission=_admission(asked, lease, after), after=after)


def _check_key(asked: AdmissionRequest, found: AdmissionRecord) -> None:
    claim = found.claim
    if asked.submission is None or claim is None or not claim.is_kept(asked.now):
        return
    if claim.submission != asked.submission:
        raise KeyReused
    if claim.run_id != asked.superseded:
        raise SubmissionInProgress(claim)


def _claim(asked: AdmissionRequest) -> SubmissionClaim | None:
    if asked.submission is None:
        return None
    return SubmissionClaim(
        submission=asked.submission,
        run_id=asked.run_id,
        claimed_at=asked.now,
        kept_until=asked.now + KEPT,
    )


def _admission(asked: AdmissionRequest, lease: Lease, held: AdmissionRecord) -> Admission:
    limits = asked.limits
    return Admission(
        lease=lease,
        standings=(
            held.user_turns.stand("user", limits.user_turns_per_minute, asked.now),
            held.organisation_turns.stand("organisation", limits.organisation_turns_per_minute, asked.now),
        ),
    )

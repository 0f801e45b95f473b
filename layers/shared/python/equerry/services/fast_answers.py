"""The fast path's answers: the one run path without a model, in the process that accepted the turn."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from equerry.channel.events import Step, UiAction
from equerry.domain.conversations import Run, accept_run
from equerry.domain.fast_answers import compose_how_to, compose_navigation
from equerry.domain.intents import Classification, HowToIntent, Intent, NavigateIntent, NoIntent
from equerry.domain.leases import Lease, LeaseLost
from equerry.domain.profiles import Profile
from equerry.engine.loop_events import TextProduced
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError
from equerry.ports.delivery import EnvelopeExists
from equerry.ports.leases import LeasePort
from equerry.ports.transcripts import RunPort
from equerry.services.ending import Ending, EndingService
from equerry.services.narration import Narrator
from equerry.services.pulse import ALIVE_S, Pulse

logger = logging.getLogger(__name__)

_LABELS: Mapping[type[Intent], str] = {NavigateIntent: "Finding the page", HowToIntent: "Looking in the help"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FastAnswerService:
    """Answers what was classified as needing no model.

    `find_trace_id` says under which trace this process works now.
    """

    runs: RunPort
    leases: LeasePort
    endings: EndingService
    clock: Clock
    find_trace_id: Callable[[], str | None] = lambda: None

    def answer(self, run: Run, profile: Profile, taken: Classification) -> bool:
        """Answer an accepted run in place; False if a worker must take it, which then finds it free.

        A process that dies in here leaves the run to the reaper: no message was sent for it.
        """
        try:
            claimed = self.leases.claim(
                run.conversation_id,
                run.run_id,
                now=self.clock.now(),
                until=self.clock.now() + timedelta(seconds=ALIVE_S),
            )
        except EquerryError:
            logger.warning("fast_path_not_claimed", extra={"run_id": run.run_id})
            return False
        try:
            self._answer(run, profile, claimed, taken)
        except (LeaseLost, EnvelopeExists):
            # Somebody else ends the run; anything more from here would be a second voice.
            logger.warning("run_lost", extra={"run_id": run.run_id})
        except Exception:  # whatever it was, a worker can still answer, or end the run visibly
            logger.exception("fast_path_failed", extra={"run_id": run.run_id})
            self._hand_over(claimed)
            return False
        return True

    def _answer(self, run: Run, profile: Profile, lease: Lease, taken: Classification) -> None:
        intent = taken.intent
        narrator = self.endings.open_narrator(run, lease)
        publisher = narrator.publisher
        if publisher.last_seq == 0:
            publisher.publish(accept_run(run))
        publisher.publish(Step(stage="answering", label=_LABELS[type(intent)]))
        text = _compose(intent, narrator)
        self.runs.start_run(
            lease.scope,
            run.run_id,
            profile_version=profile.version,
            model=None,
            composition={"taskClass": profile.task_class, "fastPath": taken.describe()},
            trace_id=self.find_trace_id(),
        )
        narrator(TextProduced(text))
        narrator.finish()
        if isinstance(intent, NavigateIntent):
            publisher.publish(_go_to(intent))
        self.endings.finish(run, Pulse(lease), narrator, Ending(stop="end_turn", spent=0), model=None)

    def _hand_over(self, lease: Lease) -> None:
        """Let a worker claim the run at once, instead of when this process would count as dead."""
        try:
            self.leases.renew(lease, until=self.clock.now())
        except EquerryError:
            logger.warning("lease_left_to_lapse", extra={"run_id": lease.run_id})


def _compose(intent: Intent, narrator: Narrator) -> str:
    match intent:
        case NavigateIntent(route=route, path=path):
            return compose_navigation(route, path)
        case HowToIntent(section=section, place=place):
            narrator.admit_projects(section.project_ids)
            ((handle, _),) = narrator.citations.evidence.admit([section])
            return compose_how_to(section, handle, place)
        case NoIntent():
            raise ValueError("only what was found can be answered")


def _go_to(intent: NavigateIntent) -> UiAction:
    details = {"path": intent.path, "label": intent.route.label, "routeId": intent.route.route_id}
    return UiAction(action="navigate", details=details)

"""Answering: one run, from the composed prompt to its `done`."""

from collections.abc import Callable
from dataclasses import dataclass

from equerry.channel.events import Step
from equerry.channel.timekeeping import KeepTime, keep_time
from equerry.domain.composition import compose_prompt, compose_thread, fit_history
from equerry.domain.conversations import Run, accept_run
from equerry.domain.evidence import Evidence
from equerry.domain.execution import HISTORY_SHARE, bound_limits, choose_history
from equerry.domain.leases import LeaseLost
from equerry.domain.limits import TurnLimits
from equerry.domain.manifests import build_manifest
from equerry.domain.principal import Scope
from equerry.domain.profiles import Profile
from equerry.domain.routing import can_call
from equerry.engine.assistant import Assistant
from equerry.engine.model import ModelChoice
from equerry.engine.run_loop import RunLoop
from equerry.engine.tool import Tool
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError
from equerry.ports.delivery import EnvelopeExists
from equerry.ports.model import ModelPort
from equerry.ports.profiles import ProfilePort
from equerry.ports.transcripts import RunPort, TranscriptPort
from equerry.services.ending import Ending, EndingService
from equerry.services.narration import Narrator
from equerry.services.pulse import Pulse

BuildTools = Callable[[Profile, Scope, Evidence, str], tuple[Tool, ...]]
"""Builds a turn's tools: profile, scope, evidence to fill, and the nonce that fences their results."""

STANDING_IN = "Asking another assistant: the usual one is unavailable"
UNFORESEEN = EquerryError(
    "Something went wrong on our side and this answer could not be finished. Ask again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerService:
    """Answers claimed runs.

    Attributes:
        release: which code this is, for the runs' records.
        find_stand_in: who answers because the model that is wanted is left alone, if it is.
        find_trace_id: under which trace this process works now.
    """

    transcripts: TranscriptPort
    runs: RunPort
    profiles: ProfilePort
    model: ModelPort
    endings: EndingService
    build_tools: BuildTools
    find_degraded: Callable[[Profile], tuple[str, ...]] = lambda _profile: ()
    find_stand_in: Callable[[], ModelChoice | None] = lambda: None
    new_nonce: Callable[[], str]
    limits: TurnLimits
    clock: Clock
    keep_time: KeepTime = keep_time
    release: str = "unknown"
    find_trace_id: Callable[[], str | None] = lambda: None

    def answer(self, run: Run, pulse: Pulse) -> None:
        """Run to the end and say so; a failure ends the run with an error and `done` like any other end.

        Raises:
            LeaseLost, EnvelopeExists: another worker has the run; nothing more was written.
        """
        narrator = self.endings.open_narrator(
            run, pulse.lease, text_interval_s=self.limits.text_interval_ms / 1000
        )
        try:
            with self.keep_time(narrator.publisher):
                ending = self._play(run, pulse, narrator)
        except (LeaseLost, EnvelopeExists):
            raise
        except EquerryError as foreseen:  # around the loop, which ends by itself when the model fails
            asked = any("endedAt" in played for played in narrator.rounds)
            ending = Ending(stop="error", failure=foreseen, spent=None if asked else 0, complete=not asked)
        except Exception:
            # A reader must not wait for a bug of ours: the run ends, and the failure goes on to the alarm.
            self._finish(run, pulse, narrator, Ending(stop="error", failure=UNFORESEEN, spent=None))
            raise
        self._finish(run, pulse, narrator, ending)

    def _play(self, run: Run, pulse: Pulse, narrator: Narrator) -> Ending:
        scope, reserved = pulse.lease.scope, pulse.lease.reservation
        if narrator.publisher.last_seq == 0:
            narrator.publisher.publish(accept_run(run))
        narrator.publisher.publish(Step(stage="composing", label="Reading the conversation"))
        profile = self.profiles.fetch_profile(run.profile)
        nonce, degraded = self.new_nonce(), self.find_degraded(profile)
        variables: dict[str, object] = {"nonce": nonce, "degraded": list(degraded)}
        if stand_in := self.find_stand_in():
            variables["standIn"] = f"{stand_in.provider}/{stand_in.model}"
            narrator.publisher.publish(Step(stage="composing", label=STANDING_IN))
        built = self.build_tools(profile, scope, narrator.citations.evidence, nonce)
        tools = tuple(tool for tool in built if stand_in is None or can_call(stand_in, tool.spec.name))
        cooled = tuple(tool.spec.name for tool in built if tool not in tools)
        composed = compose_prompt(
            profile,
            retrieves=bool(tools),
            nonce=nonce,
            degraded=(*degraded, *cooled),
            stands_in=stand_in is not None,
        )
        assistant = Assistant(
            prompt=composed.join(),
            tools=tools,
            limits=bound_limits(profile.limits, reserved, self.limits),
        )
        seen = choose_history(reserved, self.limits)
        history = fit_history(
            self.transcripts.list_messages(scope, run.conversation_id, limit=seen),
            tokens=assistant.limits.input_tokens // HISTORY_SHARE,
        )
        manifest = build_manifest(
            profile,
            assistant,
            parts=composed.parts,
            variables=variables,
            history=len(history),
            cooled=cooled,
            release=self.release,
        )
        self.runs.start_run(
            scope,
            run.run_id,
            profile_version=profile.version,
            model=self.model.choice,
            composition=manifest,
            trace_id=self.find_trace_id(),
        )
        loop = RunLoop(
            stream_round=self.model.stream,
            clock=self.clock,
            should_stop=lambda: pulse.should_stop() or narrator.publisher.has_failed,
        )
        outcome = loop.run(assistant, compose_thread(history, nonce=nonce), narrator)
        return Ending(
            stop=outcome.stop,
            usage=outcome.usage,
            failure=outcome.error,
            spent=outcome.usage.tokens + outcome.unmetered.tokens,
            complete=outcome.unmetered.tokens == 0,
        )

    def _finish(self, run: Run, pulse: Pulse, narrator: Narrator, ending: Ending) -> None:
        self.endings.finish(run, pulse, narrator, ending, model=self.model.choice)

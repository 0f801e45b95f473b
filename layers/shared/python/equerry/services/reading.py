"""Reading runs: their state, their answer, their envelopes."""

from dataclasses import dataclass

from equerry.channel.marker import Marker
from equerry.domain.conversations import Run, TranscriptMessage
from equerry.domain.principal import Scope
from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import RunId
from equerry.kernel.kinds import result
from equerry.ports.delivery import ReplayLogPort
from equerry.ports.transcripts import RunPort
from equerry.services.recovery import RecoveryService
from equerry.services.replaying import Replay, ReplayService

MAX_WAIT_S = 25.0
"""Below the gateway's 29 seconds, with room for the answer itself."""
FOLLOW_S = 20.0
"""The same, with room for a log that is long to read."""
_POLL_S = 0.4


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run and the answer it has so far persisted."""

    run: Run
    answer: TranscriptMessage | None
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReadingService:
    """Answers questions about runs."""

    runs: RunPort
    log: ReplayLogPort
    replays: ReplayService
    recovery: RecoveryService
    clock: Clock

    def fetch_view(self, scope: Scope, run_id: RunId, *, wait_s: float = 0) -> RunView:
        """Return a run; waits up to `wait_s` (at most 25) for its end.

        Raises:
            NotFound: unknown, or not this scope's.
        """
        run = self.runs.fetch_run(scope, run_id)
        deadline_s = self.clock.monotonic_s() + min(wait_s, MAX_WAIT_S)
        if self.recovery.settle_orphan(scope, run):
            run = self.runs.fetch_run(scope, run_id)
        while run.status != "ended" and self._wait(run_id, deadline_s):
            run = self.runs.fetch_run(scope, run_id)
        answer = self.runs.find_answer(scope, run_id) if run.status == "ended" else None
        return RunView(run=run, answer=answer, last_seq=run.last_seq or self.replays.last_seq_of(run_id))

    def read_envelopes(self, scope: Scope, run_id: RunId, *, after: int) -> Replay:
        """Return what the log has after `after`, and whether something before it is lost.

        Raises:
            NotFound: unknown, or not this scope's.
        """
        return self.replays.replay(self.runs.fetch_run(scope, run_id), after=after)

    def follow_envelopes(self, scope: Scope, run_id: RunId, *, after: int) -> tuple[Run, Replay]:
        """Return a run, and what the log has of it after `after`.

        Waits up to 20 s while there is nothing, unless there will be nothing more.

        Raises:
            NotFound: unknown, or not this scope's.
        """
        run = self.runs.fetch_run(scope, run_id)
        if self.recovery.settle_orphan(scope, run):
            run = self.runs.fetch_run(scope, run_id)
        found = self.replays.replay(run, after=after)
        if not (found.envelopes or found.gap_next or found.is_whole(after)):
            self._wait_for_more(Marker(run_id, after))
            run = self.runs.fetch_run(scope, run_id)  # they may have lost it while they waited
            found = self.replays.replay(run, after=after)
        return run, found

    def _wait_for_more(self, marker: Marker) -> None:
        deadline_s = self.clock.monotonic_s() + FOLLOW_S
        while self.clock.monotonic_s() < deadline_s and not self.log.read(marker, limit=1):
            self.clock.sleep(_POLL_S)

    def _wait(self, run_id: RunId, deadline_s: float) -> bool:
        """Wait for the run's last envelope; False when the time is up. The log is cheap to ask."""
        while (left_s := deadline_s - self.clock.monotonic_s()) > 0:
            last = self.log.find_last(run_id)
            if last is not None and last.is_terminal:
                return True
            self.clock.sleep(min(_POLL_S, left_s))
        return False

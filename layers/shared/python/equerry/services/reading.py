"""Reading runs: their state, their answer, their envelopes."""

from dataclasses import dataclass

from equerry.channel.envelope import Envelope
from equerry.channel.marker import Marker
from equerry.domain.conversations import Run, TranscriptMessage
from equerry.domain.principal import Scope
from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import RunId
from equerry.kernel.kinds import result
from equerry.ports.delivery import ReplayLogPort
from equerry.ports.transcripts import RunPort

MAX_WAIT_S = 25.0
"""Below the gateway's 29 seconds, with room for the answer itself."""
REPLAY_PAGE = 500
_POLL_S = 0.4


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run and the answer it has so far persisted."""

    run: Run
    answer: TranscriptMessage | None
    last_seq: int


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A stretch of a run's envelopes, in order.

    Attributes:
        gap_next: the log no longer has what follows the marker; its first envelope left is this one.
        last_seq: of the run's newest envelope.
        has_more: ask again after the last of these; a page also ends where the log has lost something.
    """

    envelopes: tuple[Envelope, ...]
    gap_next: int | None
    ended: bool
    last_seq: int
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReadingService:
    """Answers questions about runs."""

    runs: RunPort
    log: ReplayLogPort
    clock: Clock

    def fetch_view(self, scope: Scope, run_id: RunId, *, wait_s: float = 0) -> RunView:
        """Return a run; waits up to `wait_s` (at most 25) for its end.

        Raises:
            NotFound: unknown, or not this scope's.
        """
        run = self.runs.fetch_run(scope, run_id)
        deadline_s = self.clock.monotonic_s() + min(wait_s, MAX_WAIT_S)
        while run.status != "ended" and self._wait(run_id, deadline_s):
            run = self.runs.fetch_run(scope, run_id)
        answer = self.runs.find_answer(scope, run_id) if run.status == "ended" else None
        return RunView(run=run, answer=answer, last_seq=run.last_seq or self._last_seq(run_id))

    def read_envelopes(self, scope: Scope, run_id: RunId, *, after: int) -> Replay:
        """Return what the log has after `after`, and whether something before it is lost.

        Raises:
            NotFound: unknown, or not this scope's.
        """
        run = self.runs.fetch_run(scope, run_id)
        return self.replay(run, after=after)

    def replay(self, run: Run, *, after: int) -> Replay:
        """Return a stretch of a run the caller has already been allowed to read."""
        page = self.log.read(Marker(run.run_id, after), limit=REPLAY_PAGE)
        ended = run.status == "ended"
        last_seq = max(run.last_seq, self._last_seq(run.run_id))
        if page:
            gap_next = page[0].seq if page[0].seq > after + 1 else None
        else:
            gap_next = (
                run.last_seq + 1 if ended and after < run.last_seq and self._is_forgotten(run) else None
            )
        return Replay(
            envelopes=page,
            gap_next=gap_next,
            ended=ended,
            last_seq=last_seq,
            has_more=bool(page) and page[-1].seq < last_seq,
        )

    def _wait(self, run_id: RunId, deadline_s: float) -> bool:
        """Wait for the run's last envelope; False when the time is up. The log is cheap to ask."""
        while (left_s := deadline_s - self.clock.monotonic_s()) > 0:
            last = self.log.find_last(run_id)
            if last is not None and last.is_terminal:
                return True
            self.clock.sleep(min(_POLL_S, left_s))
        return False

    def _is_forgotten(self, run: Run) -> bool:
        """Whether an ended run's log is gone, rather than its last envelopes still being written."""
        return run.ended_at is not None and (self.clock.now() - run.ended_at).total_seconds() > 60

    def _last_seq(self, run_id: RunId) -> int:
        last = self.log.find_last(run_id)
        return last.seq if last else 0

"""Replays: what the log has of a run after a reader's marker."""

from dataclasses import dataclass

from equerry.channel.envelope import Envelope
from equerry.channel.marker import Marker
from equerry.domain.conversations import Run
from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import RunId
from equerry.kernel.kinds import result
from equerry.ports.delivery import ReplayLogPort
from equerry.services.delivery import encode_frame

REPLAY_PAGE = 500
MAX_PAGE_BYTES = 4_000_000
"""A function's answer may have six million, and what JSON adds to it."""


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

    def is_whole(self, after: int) -> bool:
        """Whether a reader that has everything up to `after` has the whole run, its `done` included."""
        return self.ended and not self.envelopes and after >= self.last_seq


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayService:
    """Reads the log for readers that have been allowed to read the run."""

    log: ReplayLogPort
    clock: Clock

    def replay(self, run: Run, *, after: int) -> Replay:
        """Return a stretch of a run the caller has already been allowed to read."""
        page = _cut_page(self.log.read(Marker(run.run_id, after), limit=REPLAY_PAGE))
        ended = run.status == "ended"
        last_seq = max(run.last_seq, self.last_seq_of(run.run_id))
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

    def _is_forgotten(self, run: Run) -> bool:
        """Whether an ended run's log is gone, rather than its last envelopes still being written."""
        return run.ended_at is not None and (self.clock.now() - run.ended_at).total_seconds() > 60

    def last_seq_of(self, run_id: RunId) -> int:
        """Return the seq of a run's newest envelope, 0 if the log has none."""
        last = self.log.find_last(run_id)
        return last.seq if last else 0


def _cut_page(page: tuple[Envelope, ...]) -> tuple[Envelope, ...]:
    """Return as many envelopes from the front as one answer can carry, and at least one of several."""
    size = 0
    for index, envelope in enumerate(page):
        size += len(encode_frame(envelope.to_wire()).encode())
        if size > MAX_PAGE_BYTES and index > 0:
            return page[:index]
    return page

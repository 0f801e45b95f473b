"""The sweep removes in batches, to the end or to the end of its time."""

from datetime import datetime, timedelta

import pytest
from equerry.services.retention import BATCH, RetentionService, SweepReport

from tests.fakes.clock import NOON, FixedClock
from tests.fakes.metrics import MemoryMetricAdapter


class Backlog:
    """A store with so many rows past their time; every batch takes a second."""

    def __init__(self, clock: FixedClock, *, conversations: int, passages: int, audit_rows: int = 0) -> None:
        self._clock = clock
        self._left = {"conversations": conversations, "passages": passages, "audit_rows": audit_rows}
        self.asked: list[tuple[str, datetime, int]] = []
        self.metrics = MemoryMetricAdapter()

    def delete_conversations(self, *, unchanged_since: datetime, limit: int) -> int:
        return self._take("conversations", unchanged_since, limit)

    def delete_superseded_passages(self, *, superseded_before: datetime, limit: int) -> int:
        return self._take("passages", superseded_before, limit)

    def delete_audit(self, *, older_than: datetime, limit: int) -> int:
        return self._take("audit_rows", older_than, limit)

    def _take(self, what: str, before: datetime, limit: int) -> int:
        self.asked.append((what, before, limit))
        self._clock.advance(1)
        taken = min(limit, self._left[what])
        self._left[what] -= taken
        return taken


def sweep(
    conversations: int, passages: int, audit_rows: int = 0, *, time_s: float = 600
) -> tuple[SweepReport, Backlog]:
    clock = FixedClock()
    backlog = Backlog(clock, conversations=conversations, passages=passages, audit_rows=audit_rows)
    service = RetentionService(
        retention=backlog,
        metrics=backlog.metrics,
        clock=clock,
        conversation_days=365,
        superseded_days=30,
        time_s=time_s,
    )
    return service.sweep(), backlog


def test_everything_past_its_time_goes_in_batches() -> None:
    report, backlog = sweep(2 * BATCH + 1, 3, 4)

    assert report == SweepReport(
        conversations=2 * BATCH + 1, superseded_passages=3, audit_rows=4, finished=True
    )
    assert {limit for _, _, limit in backlog.asked} == {BATCH}
    assert {what: before for what, before, _ in backlog.asked} == {
        "conversations": NOON - timedelta(days=365),
        "passages": NOON - timedelta(days=30),
        "audit_rows": NOON - timedelta(days=730),
    }


def test_a_sweep_that_runs_out_of_time_says_so_and_leaves_the_rest() -> None:
    report, _ = sweep(10 * BATCH, 5, time_s=3)

    assert report == SweepReport(conversations=3 * BATCH, superseded_passages=0, audit_rows=0, finished=False)


def test_a_second_sweep_finds_nothing() -> None:
    report, _ = sweep(0, 0)

    assert report == SweepReport(conversations=0, superseded_passages=0, audit_rows=0, finished=True)


@pytest.mark.req("A-MET-16")
def test_a_sweep_is_counted_by_what_it_removed() -> None:
    _, backlog = sweep(2 * BATCH + 1, 3)

    assert backlog.metrics.list_amounts("RetentionPurged") == [2 * BATCH + 4]

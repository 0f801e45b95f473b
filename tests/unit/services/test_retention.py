"""The sweep removes in batches, to the end or to the end of its time."""

from datetime import datetime, timedelta

import pytest
from equerry.domain.retention import RetentionWindows, Shortening
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId
from equerry.services.disposals import DisposalService
from equerry.services.retention import BATCH, CONVERSATIONS_BATCH, RetentionService, SweepReport

from tests.fakes.clock import NOON, FixedClock
from tests.fakes.life import MemoryCounterAdapter, MemoryDisposalAdapter, MemoryRemainsAdapter
from tests.fakes.metrics import MemoryMetricAdapter

NOTHING = {"items": 0}


class Backlog:
    """A store with so many rows past their time; every batch takes a second."""

    def __init__(self, clock: FixedClock, *shortenings: Shortening, **rows: int) -> None:
        self._clock = clock
        self._left = {"conversations": 0, "passages": 0, "documents": 0, "audit_rows": 0} | rows
        self._shortenings = shortenings
        self.asked: list[tuple[str, datetime, int, str | None]] = []
        self.refused = ""
        self.metrics = MemoryMetricAdapter()
        self.remains = MemoryRemainsAdapter()
        self.counters = MemoryCounterAdapter()

    def list_shortenings(self) -> tuple[Shortening, ...]:
        return self._shortenings

    def delete_conversations(
        self, *, unchanged_since: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        return self._take("conversations", unchanged_since, limit, organisation_id)

    def delete_superseded_passages(
        self, *, superseded_before: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        return self._take("passages", superseded_before, limit, organisation_id)

    def delete_withdrawn_documents(
        self, *, withdrawn_before: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        return self._take("documents", withdrawn_before, limit, organisation_id)

    def delete_audit(
        self, *, older_than: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        return self._take("audit_rows", older_than, limit, organisation_id)

    def _take(self, what: str, before: datetime, limit: int, organisation_id: str | None) -> int:
        if what == self.refused:
            raise Unavailable(f"{what} cannot be removed")
        self.asked.append((what, before, limit, organisation_id))
        self._clock.advance(1)
        taken = min(limit, self._left[what])
        self._left[what] -= taken
        return taken


def build_service(clock: FixedClock, backlog: Backlog, *, time_s: float = 600) -> RetentionService:
    return RetentionService(
        retention=backlog,
        counters=backlog.counters,
        disposals=DisposalService(
            disposals=MemoryDisposalAdapter(), stores={"items": backlog.remains}, clock=clock
        ),
        metrics=backlog.metrics,
        clock=clock,
        windows=RetentionWindows(),
        time_s=time_s,
    )


def sweep(time_s: float = 600, **rows: int) -> tuple[SweepReport, Backlog]:
    clock = FixedClock()
    backlog = Backlog(clock, **rows)
    return build_service(clock, backlog, time_s=time_s).sweep(), backlog


@pytest.mark.req("A-RETN-02", "A-RETN-03")
def test_everything_past_its_time_goes_in_batches() -> None:
    many = 2 * CONVERSATIONS_BATCH + 1
    report, backlog = sweep(conversations=many, passages=3, documents=2, audit_rows=2 * BATCH + 4)

    assert report == SweepReport(
        conversations=many,
        superseded_passages=3,
        withdrawn_documents=2,
        audit_rows=2 * BATCH + 4,
        remains=NOTHING,
        finished=True,
    )
    assert {limit for _, _, limit, _ in backlog.asked} == {BATCH, CONVERSATIONS_BATCH}
    assert {what: before for what, before, _, _ in backlog.asked} == {
        "conversations": NOON - timedelta(days=365),
        "passages": NOON - timedelta(days=30),
        "documents": NOON - timedelta(days=30),
        "audit_rows": NOON - timedelta(days=730),
    }


def test_a_sweep_that_runs_out_of_time_says_so_and_leaves_the_rest() -> None:
    report, _ = sweep(conversations=10 * CONVERSATIONS_BATCH, passages=5, time_s=3)

    assert report == SweepReport(conversations=3 * CONVERSATIONS_BATCH, remains=NOTHING, finished=False)


def test_a_kind_that_cannot_be_removed_keeps_no_other_from_going() -> None:
    clock = FixedClock()
    backlog = Backlog(clock, conversations=5, audit_rows=7, passages=3)
    backlog.refused = "conversations"

    with pytest.raises(Unavailable):
        build_service(clock, backlog).sweep()

    assert [what for what, *_ in backlog.asked] == ["audit_rows", "passages", "documents"]
    assert backlog.metrics.list_amounts("RetentionPurged") == [10]


def test_a_second_sweep_finds_nothing() -> None:
    report, _ = sweep()

    assert report == SweepReport(remains=NOTHING, finished=True)


@pytest.mark.req("A-MET-16")
def test_a_sweep_is_counted_by_what_it_removed() -> None:
    _, backlog = sweep(conversations=201, passages=3)

    assert backlog.metrics.list_amounts("RetentionPurged") == [204]


@pytest.mark.req("A-DATA-10")
def test_counters_that_no_window_looks_at_go_with_the_sweep() -> None:
    clock = FixedClock()
    backlog = Backlog(clock)
    backlog.counters.until = {"old": NOON - timedelta(hours=1), "live": NOON + timedelta(hours=1)}

    assert build_service(clock, backlog).sweep().counters == 1
    assert backlog.counters.until.keys() == {"live"}


@pytest.mark.req("F-DATA-11")
def test_an_organisation_may_keep_its_own_for_less_time_and_never_for_longer() -> None:
    clock = FixedClock()
    backlog = Backlog(
        clock,
        Shortening(organisation_id=OrganisationId("brief"), conversation_days=60, action_days=None),
        Shortening(organisation_id=OrganisationId("hoarder"), conversation_days=3000, action_days=90),
    )

    build_service(clock, backlog).sweep()

    own = {(organisation, what): before for what, before, _, organisation in backlog.asked if organisation}
    assert own == {
        ("brief", "conversations"): NOON - timedelta(days=60),
        ("brief", "audit_rows"): NOON - timedelta(days=730),
        ("hoarder", "conversations"): NOON - timedelta(days=365),
        ("hoarder", "audit_rows"): NOON - timedelta(days=90),
    }


@pytest.mark.req("A-CLI-02")
def test_a_sweep_of_one_organisation_asks_for_no_other_s() -> None:
    clock = FixedClock()
    backlog = Backlog(
        clock, Shortening(organisation_id=OrganisationId("rival"), conversation_days=60, action_days=90)
    )
    backlog.counters.until = {"old": NOON - timedelta(hours=1)}

    report = build_service(clock, backlog).sweep(OrganisationId("acme"))

    assert {organisation for *_, organisation in backlog.asked} == {"acme"}
    assert report.counters == 0


@pytest.mark.parametrize(
    "wrong",
    [{"conversation_days": 29}, {"action_days": 89}, {"superseded_days": 0}, {"purge_after_days": 3651}],
)
def test_a_window_outside_its_limits_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        RetentionWindows(**wrong)

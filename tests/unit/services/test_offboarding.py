"""An organisation goes only while the product says, again and again, that it is disabled."""

import json
from datetime import timedelta
from typing import Any

import pytest
from equerry.domain.retention import OffboardingClock, OrganisationStatus
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId
from equerry.services.disposals import DisposalService
from equerry.services.offboarding import OffboardingService, OrganisationNotDisabled

from tests.fakes.clock import NOON, FixedClock
from tests.fakes.life import (
    MemoryDisposalAdapter,
    MemoryExportAdapter,
    MemoryOffboardingAdapter,
    MemoryOrganisationStatusAdapter,
    MemoryRemainsAdapter,
)
from tests.fakes.metrics import MemoryMetricAdapter

ACME = OrganisationId("acme")
RIVAL = OrganisationId("rival")


class World:
    """Two organisations with rows in the database and things in another store."""

    def __init__(self, **answers: list[OrganisationStatus | None]) -> None:
        self.clock = FixedClock()
        self.directory = MemoryOrganisationStatusAdapter(dict(answers))
        self.noted = MemoryDisposalAdapter()
        self.store = MemoryOffboardingAdapter(self.noted)
        self.remains = MemoryRemainsAdapter()
        self.metrics = MemoryMetricAdapter()
        self.exports = MemoryExportAdapter()
        for name in ("acme", "rival"):
            self.store.rows[name] = {
                "assistant_messages": [{"content": f"hello {name}, the key is sk-{'a' * 24}"}],
                "assistant_conversations": [{"title": "t"}],
            }
            self.remains.hold("organisation", name, 3)

    def service(self, **changes: Any) -> OffboardingService:
        options: dict[str, Any] = {"exports_always": False, "after_days": 90, "time_s": 60} | changes
        return OffboardingService(
            directory=self.directory,
            organisations=self.store,
            disposals=DisposalService(disposals=self.noted, stores={"items": self.remains}, clock=self.clock),
            metrics=self.metrics,
            clock=self.clock,
            exports=self.exports,
            **options,
        )

    def is_whole(self, name: str) -> bool:
        return all(self.store.rows[name].values()) and ("organisation", name) in self.remains.held

    def is_gone(self, name: str) -> bool:
        return not any(self.store.rows[name].values()) and ("organisation", name) not in self.remains.held


@pytest.mark.req("A-OFFB-01", "A-OFFB-03", "A-RETN-05", "A-MET-15")
def test_a_disabled_organisation_goes_when_its_first_sighting_is_old_enough() -> None:
    world = World(acme=["disabled"], rival=["active"])
    service = world.service()

    first = service.sweep()
    world.clock.advance(89 * 86400)
    almost = service.sweep()
    world.clock.advance(7 * 86400)
    late = service.sweep()

    assert world.directory.asked[:2] == ["acme", "rival"]
    assert (first.waiting, first.active) == (1, 1)
    assert (almost.waiting, almost.purged) == (1, 0)
    assert late.purged == 1
    assert world.metrics.list_amounts("OrgOffboardPurge") == [1]
    assert world.is_gone("acme")
    assert world.is_whole("rival")


@pytest.mark.req("A-OFFB-02")
def test_an_organisation_that_is_active_again_starts_from_zero() -> None:
    world = World(acme=["disabled", "active", "disabled"], rival=["active"])
    service = world.service()

    service.sweep()
    world.clock.advance(80 * 86400)
    service.sweep()
    assert world.store.clocks == {}
    world.clock.advance(20 * 86400)
    service.sweep()

    assert world.is_whole("acme")
    assert world.store.clocks["acme"].first_disabled_at == NOON + timedelta(days=100)


@pytest.mark.req("A-OFFB-04")
@pytest.mark.parametrize("status", ["provisioning", "failed", "unknown"])
def test_any_other_status_changes_nothing(status: OrganisationStatus) -> None:
    world = World(acme=[status], rival=["active"])
    seen = OffboardingClock(first_disabled_at=NOON - timedelta(days=400), purge_started_at=None)
    world.store.clocks["acme"] = seen

    report = world.service().sweep()

    assert report.untouched == 1
    assert world.store.clocks == {"acme": seen}
    assert world.is_whole("acme")


@pytest.mark.req("A-OFFB-05")
@pytest.mark.parametrize("status", ["active", "provisioning", "failed", "unknown", None])
def test_a_purge_by_hand_goes_ahead_only_on_an_explicit_disabled(status: OrganisationStatus | None) -> None:
    world = World(acme=[status])

    with pytest.raises((OrganisationNotDisabled, Unavailable)):
        world.service().handle_organisation_disabled(ACME, export=True)

    assert world.is_whole("acme")
    assert world.exports.taken == {}
    assert world.store.clocks == {}


@pytest.mark.req("A-OFFB-05", "A-OFFB-06")
@pytest.mark.parametrize("turned", ["active", "unknown", None])
def test_an_organisation_that_comes_back_during_its_export_loses_nothing(
    turned: OrganisationStatus | None,
) -> None:
    world = World(acme=["disabled", turned])

    with pytest.raises((OrganisationNotDisabled, Unavailable)):
        world.service().handle_organisation_disabled(ACME, export=True)

    assert world.exports.taken.keys() == {"acme"}
    assert world.is_whole("acme")


@pytest.mark.req("A-OFFB-06", "A-OFFB-07", "A-OFFB-09", "A-MET-15")
def test_a_purge_by_hand_needs_no_clock_and_leaves_a_proof_outside(caplog: pytest.LogCaptureFixture) -> None:
    world = World(acme=["disabled"])

    with caplog.at_level("INFO"):
        report = world.service().handle_organisation_disabled(ACME)

    assert world.directory.asked == ["acme", "acme"]
    assert report.removed == {"assistant_messages": 1, "assistant_conversations": 1, "items": 3}
    assert world.store.proofs == [("acme", report.removed)]
    assert world.metrics.list_amounts("OrgOffboardPurge") == [1]
    assert [entry.message for entry in caplog.records].count("organisation_purged") == 1
    assert world.is_gone("acme")


@pytest.mark.req("A-OFFB-08")
def test_the_export_is_redacted_and_there_before_anything_goes() -> None:
    world = World(acme=["disabled"])

    report = world.service(exports_always=True).handle_organisation_disabled(ACME)

    (said, _) = (json.loads(line) for line in world.exports.taken["acme"])
    assert said == {"table": "assistant_messages", "row": {"content": "hello acme, the key is [redacted]"}}
    assert report.export == "exports/acme"


@pytest.mark.req("A-OFFB-08")
def test_an_export_that_nobody_takes_stops_the_purge() -> None:
    world = World(acme=["disabled"])
    world.exports.refuses = True

    with pytest.raises(Unavailable):
        world.service().handle_organisation_disabled(ACME, export=True)

    assert world.is_whole("acme")


@pytest.mark.req("A-MET-15")
def test_a_purge_that_died_between_stores_is_finished_by_the_next_run() -> None:
    world = World(acme=["disabled"], rival=["active"])
    world.remains.failures = 1
    service = world.service()

    with pytest.raises(Unavailable):
        service.handle_organisation_disabled(ACME)
    assert not any(world.store.rows["acme"].values())
    assert world.store.proofs == []
    report = service.sweep()  # by its mark, not by its age

    assert report.purged == 1
    assert world.metrics.list_amounts("OrgOffboardPurge") == [1]
    assert world.is_gone("acme")
    assert world.store.clocks == {}
    assert world.noted.noted == []


@pytest.mark.req("A-OFFB-05", "A-OFFB-06")
def test_an_organisation_that_comes_back_in_mid_purge_keeps_what_is_left_of_it() -> None:
    world = World(acme=["disabled", "disabled", "active"], rival=["active"])
    world.store.rows["acme"]["assistant_conversations"].append({"title": "stays"})
    service = world.service(time_s=0)
    with pytest.raises(Unavailable, match="not finished"):
        service.handle_organisation_disabled(ACME)

    service.disposals.drain(time_s=60)  # as the weekly sweep does, which asks nobody
    service.sweep()

    assert world.store.clocks == {}
    assert ("organisation", "acme") in world.remains.held
    assert len(world.store.rows["acme"]["assistant_conversations"]) == 2


def test_what_a_purge_removed_is_disposed_of_though_the_organisation_comes_back() -> None:
    world = World(acme=["disabled", "disabled", "active"], rival=["active"])
    world.remains.hold("conversation", "acme/c-1", 2)
    world.remains.failures = 1
    service = world.service()
    with pytest.raises(Unavailable):
        service.handle_organisation_disabled(ACME)
    assert not any(world.store.rows["acme"].values())

    service.disposals.drain(time_s=60)
    service.sweep()

    assert ("conversation", "acme/c-1") not in world.remains.held
    assert ("organisation", "acme") in world.remains.held


def test_a_purge_without_time_says_so_and_is_taken_up_again() -> None:
    world = World(acme=["disabled"], rival=["active"])

    with pytest.raises(Unavailable, match="not finished"):
        world.service(time_s=0).handle_organisation_disabled(ACME)
    world.service().sweep()

    assert world.is_gone("acme")


def test_a_second_purge_removes_nothing() -> None:
    world = World(acme=["disabled"])
    service = world.service()
    service.handle_organisation_disabled(ACME)

    again = service.handle_organisation_disabled(ACME)

    assert sum(again.removed.values()) == 0


def test_one_organisation_nobody_knows_of_keeps_no_other_waiting_and_is_told_in_the_end() -> None:
    world = World(acme=[None], rival=["disabled"])
    world.store.clocks["rival"] = OffboardingClock(
        first_disabled_at=NOON - timedelta(days=90), purge_started_at=None
    )

    with pytest.raises(Unavailable, match="1 organisations"):
        world.service().sweep()

    assert world.is_gone("rival")
    assert world.is_whole("acme")

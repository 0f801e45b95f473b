"""What an event starts in the retention function, and what it takes for it to start at all."""

from dataclasses import MISSING, fields
from typing import Any

import pytest
from equerry.domain.retention import RetentionWindows
from equerry.kernel.errors import EquerryError, InvalidInput, Unavailable
from equerry.runtime.environment import MissingSetting
from equerry.runtime.retention import RetentionApp, build_retention_app
from equerry.runtime.settings import RetentionSettings
from equerry.services.disposals import DisposalService
from equerry.services.erasure import ErasureService
from equerry.services.offboarding import OffboardingService
from equerry.services.retention import RetentionService
from equerry.services.upkeep import UpkeepService

from tests.fakes.clock import FixedClock
from tests.fakes.life import (
    MemoryCounterAdapter,
    MemoryDisposalAdapter,
    MemoryErasureAdapter,
    MemoryExportAdapter,
    MemoryOffboardingAdapter,
    MemoryOrganisationStatusAdapter,
    MemoryRemainsAdapter,
)
from tests.fakes.metrics import MemoryMetricAdapter
from tests.fakes.retention import MemoryRetentionAdapter

ADA = "5f0c9d0e-8f3e-4a53-9a55-0d7f3a1b2c3d"


class World:
    """The function over stores in memory; `acme` has a row and is disabled."""

    def __init__(self) -> None:
        clock, metrics, self.noted = FixedClock(), MemoryMetricAdapter(), MemoryDisposalAdapter()
        self.remains = MemoryRemainsAdapter()
        disposals = DisposalService(disposals=self.noted, stores={"items": self.remains}, clock=clock)
        self.erasures = MemoryErasureAdapter(self.noted, {ADA: {"assistant_conversations": 1}})
        self.offboarding = MemoryOffboardingAdapter(
            self.noted, {"acme": {"assistant_conversations": [{"title": "t"}]}}
        )
        self.directory = MemoryOrganisationStatusAdapter({"acme": ["disabled"]})
        self.exports = MemoryExportAdapter()
        self.counters = MemoryCounterAdapter()
        self.metrics = metrics
        self.app = RetentionApp(
            UpkeepService(
                retention=RetentionService(
                    retention=MemoryRetentionAdapter(),
                    counters=self.counters,
                    disposals=disposals,
                    metrics=metrics,
                    clock=clock,
                    windows=RetentionWindows(),
                    time_s=60,
                ),
                erasures=ErasureService(erasures=self.erasures, disposals=disposals, clock=clock, time_s=60),
                offboarding=OffboardingService(
                    directory=self.directory,
                    organisations=self.offboarding,
                    disposals=disposals,
                    metrics=metrics,
                    clock=clock,
                    exports=self.exports,
                    exports_always=False,
                    after_days=90,
                    time_s=60,
                ),
            )
        )

    def send(self, **event: Any) -> Any:
        return self.app(event, None)

    def has_swept(self) -> bool:
        return self.metrics.list_amounts("RetentionPurged") != []


@pytest.mark.req("A-ERASE-01")
def test_an_event_erases_a_person_and_tells_what_went() -> None:
    world = World()

    said = world.send(kind="erase-user", userId=ADA, requestId="r-1")

    assert said["rows"] == {"assistant_conversations": 1}
    assert said["request_id"] == "r-1"
    assert not world.has_swept()


@pytest.mark.req("A-ERASE-02")
@pytest.mark.parametrize(
    "event",
    [
        {"userId": ADA},
        {"userId": ADA, "requestId": ""},
        {"requestId": "r"},
        {"userId": "", "requestId": "r"},
        {"userId": ["x"], "requestId": "r"},
    ],
)
def test_a_bad_erasure_ends_before_any_store_is_asked(event: dict[str, Any]) -> None:
    world = World()

    with pytest.raises(InvalidInput):
        world.send(kind="erase-user", **event)

    assert world.erasures.begun == {}
    assert not world.has_swept()


@pytest.mark.req("A-ERASE-03", "A-RETN-09")
@pytest.mark.parametrize(
    "event", [{}, {"source": "aws.events"}, {"kind": "something"}, {"kind": None}, {"kind": ["erase-user"]}]
)
def test_any_other_event_runs_the_scheduled_job(event: dict[str, Any]) -> None:
    world = World()

    said = world.app(event, None)

    assert list(said) == ["retention", "erasures", "offboarding"]
    assert world.has_swept()
    assert world.directory.asked == ["acme"]


@pytest.mark.req("A-RETN-10")
def test_a_sweep_that_fails_does_not_keep_offboarding_from_being_tried_and_is_told() -> None:
    world = World()

    def fail(**_: object) -> int:
        raise Unavailable("counters")

    world.counters.delete_counters = fail  # type: ignore[method-assign]  # a store that is down
    with pytest.raises(Unavailable):
        world.send()

    assert world.directory.asked == ["acme"]


@pytest.mark.req("A-RETN-10")
def test_an_offboarding_that_fails_is_told_after_the_sweep() -> None:
    world = World()
    world.directory.answers = {"acme": [None]}

    with pytest.raises(Unavailable):
        world.send()

    assert world.has_swept()


def test_the_scheduled_job_goes_on_with_an_erasure_that_died() -> None:
    world = World()
    world.remains.failures = 1
    with pytest.raises(EquerryError):
        world.send(kind="erase-user", userId=ADA, requestId="r-1")

    assert world.send()["erasures"] == 1
    assert world.erasures.rows == {}


@pytest.mark.req("A-CLI-01")
@pytest.mark.parametrize(("named", "scope"), [({}, ["acme"]), ({"organisationId": "rival"}, ["rival"])])
def test_a_dry_run_tells_scope_and_windows_and_touches_nothing(
    named: dict[str, str], scope: list[str]
) -> None:
    world = World()

    said = world.send(kind="sweep", dryRun=True, **named)

    assert said == {
        "organisations": scope,
        "windows": {
            "conversation_days": 365,
            "action_days": 730,
            "superseded_days": 30,
            "purge_after_days": 90,
        },
    }
    assert not world.has_swept()
    assert world.directory.asked == []


@pytest.mark.req("A-CLI-02")
def test_a_sweep_by_hand_reports_counts_and_follows_no_status() -> None:
    world = World()

    said = world.send(kind="sweep", organisationId="acme")

    assert (said["conversations"], said["finished"]) == (0, True)
    assert world.directory.asked == []


@pytest.mark.req("A-OFFB-07", "A-CLI-03")
def test_a_disabled_organisation_is_purged_by_event_with_its_export_if_wanted() -> None:
    world = World()

    said = world.send(kind="organisation-disabled", organisationId="acme", export=True)

    assert said["removed"]["assistant_conversations"] == 1
    assert said["export"] == "exports/acme"
    assert world.exports.taken.keys() == {"acme"}


@pytest.mark.parametrize(
    "event", [{"kind": "sweep", "organisationId": ""}, {"kind": "organisation-disabled"}]
)
def test_an_event_with_no_organisation_s_id_does_nothing(event: dict[str, Any]) -> None:
    world = World()

    with pytest.raises(InvalidInput):
        world.app(event, None)

    assert not world.has_swept()


@pytest.mark.req("A-RETN-08")
@pytest.mark.parametrize(
    "missing", ["DATABASE_SECRET_ARN", "SERVICE_MINT_FUNCTION_ARN", "IDENTITY_SERVICE_URL"]
)
def test_without_any_of_three_settings_the_function_does_not_start(missing: str) -> None:
    required: Any = {
        field.name: "https://x.invalid" for field in fields(RetentionSettings) if field.default is MISSING
    }
    environment = RetentionSettings(**required).to_env()
    del environment[missing]

    with pytest.raises(MissingSetting, match=missing):
        build_retention_app(environment)

"""`equerry switch`: what an operator says is what functions read."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from equerry.adapters.aws.parameters import ParameterReader
from equerry.adapters.aws.switches import ParameterSwitchAdapter
from equerry.domain.switches import Switches

from local.cli.switch_commands import open_switchboard
from local.cli.switching import LEVELS, Switchboard
from local.errors import BadInput, LocalError
from tests.contract.aws_backends import start_aws
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import MemoryMetricAdapter

NAMES = {"tool": "search_docs", "pack": "docs"}


@dataclass(frozen=True)
class Deployment:
    """A stage as a deployment leaves it, an operator at its switches, and a function that reads them."""

    board: Switchboard
    switch: ParameterSwitchAdapter
    clock: FixedClock

    def read_later(self) -> Switches:
        self.clock.advance(30)
        return self.switch.read()


@pytest.fixture
def deployed() -> Iterator[Deployment]:
    with start_aws("moto") as clients:
        clock, base = FixedClock(), "/equerry/acme"
        clients.ssm.put_parameter(Name=f"{base}/assistant-enabled", Value="true", Type="String")
        for level in LEVELS:
            clients.ssm.put_parameter(Name=f"{base}/off/{level}", Value="-", Type="String")
        switch = ParameterSwitchAdapter(
            ParameterReader(clients.ssm, clock),
            metrics=MemoryMetricAdapter(),
            name=f"{base}/assistant-enabled",
            prefix=f"{base}/off",
        )
        yield Deployment(Switchboard(clients.ssm, "acme"), switch, clock)


@pytest.mark.req("F-INC-01", "F-INC-03")
@pytest.mark.parametrize("level", LEVELS)
def test_what_an_operator_turns_off_is_off_in_functions_30_seconds_later(
    deployed: Deployment, level: str
) -> None:
    name = NAMES.get(level, "northwind")
    assert deployed.switch.read() == Switches()

    deployed.board.turn(level, name, on=False)
    assert getattr(deployed.read_later(), f"{level}s") == {name}
    assert deployed.board.list_states()[level] == f"off: {name}"

    deployed.board.turn(level, name, on=True)
    assert deployed.read_later() == Switches()
    assert set(deployed.board.list_states().values()) == {"on"}


def test_the_platform_goes_off_and_on(deployed: Deployment) -> None:
    deployed.board.turn("platform", None, on=False)
    assert not deployed.read_later().platform
    assert deployed.board.list_states()["platform"] == "off"

    deployed.board.turn("platform", None, on=True)
    assert deployed.read_later().platform


def test_what_is_off_already_stays_off_beside_another(deployed: Deployment) -> None:
    for name in ("northwind", "northwind", "contoso"):
        deployed.board.turn("tenant", name, on=False)
    deployed.board.turn("tenant", "nobody", on=True)

    assert deployed.read_later().tenants == {"northwind", "contoso"}


@pytest.mark.parametrize(
    ("level", "name", "says"),
    [
        ("tenants", "northwind", "no level 'tenants'"),
        ("tenant", None, "which tenant"),
        ("tenant", "one,two", "cannot be the name"),
        ("tenant", "-", "cannot be the name"),
        ("tool", "serach_docs", "there is no tool 'serach_docs' in this version: lookup_docs, search_docs"),
        ("pack", "doc", "there is no pack 'doc'"),
        ("platform", "docs", "has no name"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_is_written(
    deployed: Deployment, level: str, name: str | None, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        deployed.board.turn(level, name, on=False)

    assert deployed.read_later() == Switches()


def test_a_tool_of_another_version_can_be_turned_off_by_name(deployed: Deployment) -> None:
    deployed.board.turn("tool", "rate", on=False, unknown=True)

    assert deployed.read_later().tools == {"rate"}


def test_a_setting_that_somebody_else_broke_is_shown_and_not_overwritten(deployed: Deployment) -> None:
    deployed.board.ssm.put_parameter(
        Name="/equerry/acme/off/tenant", Value="one two", Type="String", Overwrite=True
    )

    assert deployed.board.list_states()["tenant"] == "unreadable: 'one two'"
    with pytest.raises(LocalError, match="holds 'one two'"):
        deployed.board.turn("tenant", "northwind", on=False)


def test_a_stage_that_is_not_there_cannot_be_turned_by_mistake(deployed: Deployment) -> None:
    with pytest.raises(LocalError, match="no stage"):
        Switchboard(deployed.board.ssm, "amce").turn("platform", None, on=False)


@pytest.mark.parametrize(("stage", "remedy"), [("local", "make up"), ("amce", "check the credentials")])
def test_a_stage_that_is_not_there_is_told_with_what_can_be_done_about_it(
    deployed: Deployment, stage: str, remedy: str
) -> None:
    with pytest.raises(LocalError) as caught:
        Switchboard(deployed.board.ssm, stage).turn("platform", None, on=False)

    assert caught.value.remedy.startswith(remedy)


def test_a_stage_without_a_region_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    with pytest.raises(LocalError) as caught:
        open_switchboard("production", None)

    assert "--region" in caught.value.remedy

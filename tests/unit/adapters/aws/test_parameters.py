"""How old a parameter may be, how often it is asked for, and what an outage of SSM does."""

import json
from collections.abc import Iterator
from dataclasses import MISSING, fields
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from equerry.adapters.aws.parameters import RETRY_S, Parameter, ParameterReader, ParameterSwitchAdapter
from equerry.runtime.http import build_http_app
from equerry.runtime.parameters import build_switch, open_parameters
from equerry.runtime.settings import HttpSettings

from tests.contract.aws_backends import start_aws
from tests.fakes.clock import FixedClock
from tests.unit.architecture.source import list_identifiers, list_modules

NAME = "/equerry/test/assistant-enabled"


class ScriptedSsm:
    """SSM that says what it was told to, and counts who asked."""

    def __init__(self, **values: str) -> None:
        self.values: dict[str, str | Exception] = dict(values)
        self.asked: list[tuple[str, ...]] = []
        self.out = False

    def get_parameter(self, **asked: Any) -> dict[str, Any]:
        self._hear(asked["Name"])
        if asked["Name"] not in self.values:
            raise ClientError({"Error": {"Code": "ParameterNotFound", "Message": ""}}, "GetParameter")
        return {"Parameter": {"Name": asked["Name"], "Value": self.values[asked["Name"]]}}

    def get_parameters(self, **asked: Any) -> dict[str, Any]:
        self._hear(*asked["Names"])
        found = [{"Name": name, "Value": self.values[name]} for name in asked["Names"] if name in self.values]
        return {"Parameters": found}

    def _hear(self, *names: str) -> None:
        self.asked.append(names)
        if self.out:
            raise EndpointConnectionError(endpoint_url="https://ssm.invalid")


class FrozenClock(FixedClock):
    """Time that passes by the wall alone, as a frozen container may see it."""

    def freeze(self, seconds: float) -> None:
        self._start += timedelta(seconds=seconds)


def reader(ssm: ScriptedSsm, clock: FixedClock | None = None) -> ParameterReader:
    return ParameterReader(cast("Any", ssm), clock or FixedClock())


@pytest.mark.req("A-KILL-04")
def test_a_switch_is_read_once_in_30_seconds() -> None:
    ssm, clock = ScriptedSsm(**{NAME: "true"}), FixedClock()
    switch = ParameterSwitchAdapter(reader(ssm, clock), name=NAME)
    for _ in range(30):
        assert switch.is_on()
        clock.advance(0.99)
    ssm.values[NAME] = "false"
    clock.advance(0.3)

    assert not switch.is_on()
    assert len(ssm.asked) == 2


@pytest.mark.parametrize("freeze_s", [30, 86_400, -5])
def test_a_container_that_was_frozen_reads_before_it_uses(freeze_s: float) -> None:
    ssm, clock = ScriptedSsm(**{NAME: "true"}), FrozenClock()
    switch = ParameterSwitchAdapter(reader(ssm, clock), name=NAME)
    assert switch.is_on()

    ssm.values[NAME] = "false"
    clock.freeze(freeze_s)

    assert not switch.is_on()


@pytest.mark.req("A-KILL-06")
def test_an_outage_of_ssm_keeps_what_was_said_last_and_is_not_asked_at_every_turn() -> None:
    ssm, clock = ScriptedSsm(**{NAME: "false"}), FixedClock()
    switch = ParameterSwitchAdapter(reader(ssm, clock), name=NAME)
    assert not switch.is_on()
    ssm.out = True
    clock.advance(30)

    asked = len(ssm.asked)
    assert not any(switch.is_on() for _ in range(10))
    assert len(ssm.asked) == asked + 1
    clock.advance(RETRY_S)
    assert not switch.is_on()
    assert len(ssm.asked) == asked + 2

    ssm.out, ssm.values[NAME] = False, "true"
    clock.advance(RETRY_S)
    assert switch.is_on()


@pytest.mark.req("A-KILL-05")
def test_ssm_that_never_answered_leaves_it_on() -> None:
    ssm = ScriptedSsm()
    ssm.out = True

    assert ParameterSwitchAdapter(reader(ssm), name=NAME).is_on()


@pytest.mark.req("A-KILL-03")
@pytest.mark.parametrize(
    ("stated", "on"), [("true", True), ("false", False), ("FALSE", False), ("perhaps", True)]
)
def test_what_the_environment_states_goes_before_the_parameter(stated: str, on: bool) -> None:
    ssm = ScriptedSsm(**{NAME: "false" if on else "true"})

    assert ParameterSwitchAdapter(reader(ssm), stated=stated, name=NAME).is_on() is on
    assert ssm.asked == []


@pytest.mark.req("A-KILL-03")
def test_with_neither_it_is_on() -> None:
    assert ParameterSwitchAdapter(reader(ScriptedSsm())).is_on()


@pytest.mark.req("A-SSM-02")
def test_two_reads_share_what_is_kept_only_if_name_decryption_and_time_match() -> None:
    ssm = ScriptedSsm(a="1", b="2")
    parameters = reader(ssm)
    for parameter in (
        Parameter(name="a", kept_s=30),
        Parameter(name="a", kept_s=30),
        Parameter(name="a", kept_s=300),
        Parameter(name="a", decrypted=True, kept_s=30),
        Parameter(name="b", kept_s=30),
    ):
        parameters.find_text(parameter)

    assert len(ssm.asked) == 4


@pytest.mark.req("A-SSM-04")
def test_parameters_are_loaded_ten_at_a_call_before_they_are_used() -> None:
    names = [f"p{number}" for number in range(23)]
    ssm = ScriptedSsm(**dict.fromkeys(names, "x"))
    parameters = reader(ssm)
    wanted = [Parameter(name=name, kept_s=30) for name in names]

    parameters.preload(wanted)

    assert [len(batch) for batch in ssm.asked] == [10, 10, 3]
    assert [parameters.find_text(parameter) for parameter in wanted] == ["x"] * 23
    assert len(ssm.asked) == 3


@pytest.mark.req("A-SSM-06")
def test_what_cannot_be_loaded_is_read_when_it_is_used() -> None:
    ssm = ScriptedSsm(a="1")
    parameters = reader(ssm)
    ssm.out = True
    parameters.preload([Parameter(name="a", kept_s=30)])

    ssm.out = False
    assert parameters.find_text(Parameter(name="a", kept_s=30)) == "1"


@pytest.mark.req("A-SSM-08")
def test_every_parameter_of_the_request_path_is_loaded_before_the_first_request() -> None:
    named = [field.name for field in fields(HttpSettings) if field.name.endswith("_ssm_parameter")]
    required: dict[str, Any] = {f.name: "x" for f in fields(HttpSettings) if f.default is MISSING}
    settings = HttpSettings(**required | {name: f"/parameter/{name}" for name in named})
    switch = build_switch(settings, reader(ScriptedSsm()))

    preloaded = {parameter.name for parameter in switch.list_parameters()}

    assert named
    assert preloaded == {f"/parameter/{name}" for name in named}


@pytest.mark.req("A-SSM-01")
def test_all_reads_of_ssm_go_through_the_one_reader_of_the_process() -> None:
    reads = {"ssm", "get_parameter", "get_parameters", "get_parameters_by_path", "ParameterReader"}
    readers = {module.name for module in list_modules() if reads & list_identifiers(module.tree)}

    assert readers == {
        "equerry.adapters.aws.clients",
        "equerry.adapters.aws.parameters",
        "equerry.runtime.parameters",
    }
    assert open_parameters() is open_parameters()


@pytest.fixture
def fresh_process() -> Iterator[None]:
    """A process whose parameters nobody has read."""
    open_parameters.cache_clear()
    yield
    open_parameters.cache_clear()


@pytest.mark.req("A-SSM-04", "A-KILL-01")
def test_the_app_has_read_its_switch_before_its_first_request(fresh_process: None) -> None:
    required: dict[str, Any] = {
        f.name: "https://x.invalid" for f in fields(HttpSettings) if f.default is MISSING
    }
    settings = HttpSettings(**required, assistant_enabled_ssm_parameter=NAME)
    with start_aws("moto") as clients:
        clients.ssm.put_parameter(Name=NAME, Value="false", Type="String")
        app = build_http_app(settings.to_env())
        clients.ssm.put_parameter(Name=NAME, Value="true", Type="String", Overwrite=True)
        event = {
            "version": "2.0",
            "rawPath": "/api/assistant/config",
            "headers": {},
            "requestContext": {
                "http": {"method": "GET", "path": "/api/assistant/config"},
                "requestId": "r",
                "stage": "$default",
            },
            "isBase64Encoded": False,
        }

        answer = app(event, SimpleNamespace())

    assert json.loads(answer["body"])["enabled"] is False

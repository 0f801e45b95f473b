"""How old a parameter may be, how often it is asked for, and what an outage of SSM does."""

import ast
import json
from collections.abc import Iterator
from dataclasses import MISSING, fields
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast, get_args

import pytest
from equerry.adapters.aws.parameters import RETRY_S, Parameter, ParameterReader
from equerry.adapters.aws.switches import ParameterSwitchAdapter
from equerry.domain.switches import NamedLevel, Switches
from equerry.runtime.completion_parts import build_parts
from equerry.runtime.gateway import build_gateway, list_gateway_parameters
from equerry.runtime.gateway_settings import StructuredCompletionSettings
from equerry.runtime.http import build_http_app
from equerry.runtime.parameters import build_limits, build_switch, list_parameters, open_parameters
from equerry.runtime.settings import HttpSettings, LimitSettings, WorkerSettings
from equerry.services.gateway import GatewayService
from equerry.surfaces.completion import decode_request

from tests.completions import payload
from tests.contract.aws_backends import start_aws
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import MemoryMetricAdapter
from tests.fakes.provider_health import MemoryProviderHealthAdapter
from tests.scripted_ssm import ScriptedSsm
from tests.unit.architecture.source import list_identifiers, list_imports, list_modules
from tests.unit.domain.test_completion_profiles import TENDER_CHECK

NAME = "/equerry/test/assistant-enabled"
PREFIX = "/equerry/test/off"
LEVELS: tuple[NamedLevel, ...] = get_args(NamedLevel)


class FrozenClock(FixedClock):
    """Time that passes by the wall alone, as a frozen container may see it."""

    def freeze(self, seconds: float) -> None:
        self._start += timedelta(seconds=seconds)


def reader(ssm: ScriptedSsm, clock: FixedClock | None = None) -> ParameterReader:
    return ParameterReader(cast("Any", ssm), clock or FixedClock())


def open_switch(ssm: ScriptedSsm, clock: FixedClock | None = None, **how: Any) -> ParameterSwitchAdapter:
    """Return the switch of one process, with the platform's parameter unless told otherwise."""
    usual: dict[str, Any] = {"name": NAME, "metrics": MemoryMetricAdapter()}
    return ParameterSwitchAdapter(reader(ssm, clock), **usual | how)


@pytest.mark.req("A-KILL-04")
def test_a_switch_is_read_once_in_30_seconds() -> None:
    ssm, clock = ScriptedSsm(**{NAME: "true"}), FixedClock()
    switch = open_switch(ssm, clock)
    for _ in range(30):
        assert switch.is_on()
        clock.advance(0.99)
    ssm.values[NAME] = "false"
    clock.advance(0.3)

    assert not switch.is_on()
    assert len(ssm.asked) == 2


@pytest.mark.req("A-SSM-07", "F-INC-03")
@pytest.mark.parametrize("freeze_s", [30, 86_400, -5])
def test_a_container_that_was_frozen_reads_before_it_uses(freeze_s: float) -> None:
    ssm, clock = ScriptedSsm(**{NAME: "true"}), FrozenClock()
    switch = open_switch(ssm, clock)
    assert switch.is_on()

    ssm.values[NAME] = "false"
    clock.freeze(freeze_s)

    assert not switch.is_on()


@pytest.mark.req("F-INC-03")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("freeze_s", [30, 86_400, -5])
def test_a_container_that_was_frozen_reads_every_level_before_it_uses_it(
    level: NamedLevel, freeze_s: float
) -> None:
    ssm, clock = ScriptedSsm(**{f"{PREFIX}/{name}": "-" for name in LEVELS}), FrozenClock()
    switch = open_switch(ssm, clock, prefix=PREFIX)
    before = switch.read()

    ssm.values[f"{PREFIX}/{level}"] = "this"
    clock.freeze(freeze_s)

    assert before == Switches()
    assert switch.read() == Switches(**{f"{level}s": frozenset({"this"})})  # type: ignore[arg-type]  # a field a level


def test_all_levels_are_one_call_in_30_seconds_however_often_they_are_asked() -> None:
    ssm, clock = ScriptedSsm(**{NAME: "true"}), FixedClock()
    switch = open_switch(ssm, clock, prefix=PREFIX)
    for _ in range(29):
        switch.read()
        switch.is_on()
        clock.advance(1)

    assert [len(names) for names in ssm.asked] == [1 + len(LEVELS)]


@pytest.mark.parametrize(
    ("name", "text"), [(NAME, "flase"), (f"{PREFIX}/tool", "one two"), (f"{PREFIX}/model", '["one"]')]
)
def test_a_setting_that_says_nothing_is_counted_at_every_reading_until_it_is_mended(
    name: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    ssm, clock, metrics = ScriptedSsm(**{name: text}), FixedClock(), MemoryMetricAdapter()
    switch = open_switch(ssm, clock, prefix=PREFIX, metrics=metrics)

    for _ in range(3):
        assert [switch.read() for _ in range(4)] == [Switches()] * 4
        clock.advance(30)

    assert metrics.list_amounts("SwitchUnparseable") == [1, 1, 1]
    assert "switch_unparseable" in caplog.text

    ssm.values[name] = "true" if name == NAME else "-"
    switch.read()
    clock.advance(30)
    switch.read()
    assert metrics.list_amounts("SwitchUnparseable") == [1, 1, 1]


@pytest.mark.req("A-KILL-06")
def test_an_outage_of_ssm_keeps_what_was_said_last_and_is_not_asked_at_every_turn() -> None:
    ssm, clock = ScriptedSsm(**{NAME: "false"}), FixedClock()
    switch = open_switch(ssm, clock)
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

    assert open_switch(ssm).is_on()


@pytest.mark.req("A-KILL-03")
@pytest.mark.parametrize(
    ("stated", "on"), [("true", True), ("false", False), ("FALSE", False), ("perhaps", True)]
)
def test_what_the_environment_states_goes_before_the_parameter(stated: str, on: bool) -> None:
    ssm = ScriptedSsm(**{NAME: "false" if on else "true"})

    assert open_switch(ssm, stated=stated).is_on() is on
    assert ssm.asked == []


@pytest.mark.req("A-KILL-03")
def test_with_neither_it_is_on() -> None:
    assert open_switch(ScriptedSsm(), name=None).is_on()


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


class EavesdroppingSsm(ScriptedSsm):
    """SSM that has every parameter."""

    def get_parameters(self, **asked: Any) -> dict[str, Any]:
        self.asked.append(tuple(asked["Names"]))
        return {"Parameters": [{"Name": name, "Value": "-"} for name in asked["Names"]]}


@pytest.mark.req("A-SSM-08", "A-SSM-04")
@pytest.mark.parametrize("settings_of", [HttpSettings, WorkerSettings])
def test_every_parameter_of_the_request_path_is_loaded_before_the_first_request(
    settings_of: type[LimitSettings],
) -> None:
    ssm = EavesdroppingSsm()
    parameters = reader(ssm)
    settings, named = fill_settings(settings_of)
    switch = build_switch(settings, parameters, MemoryMetricAdapter())

    parameters.preload((*list_parameters(settings, switch), *_list_model_parameters(settings)))
    loaded = list(ssm.asked)
    switch.read()
    build_limits(settings, parameters)
    if isinstance(settings, WorkerSettings):
        _open_gateway(settings, parameters).find_route("conversational")

    assert ssm.asked == loaded
    assert named
    assert_all_in(named, loaded)


@pytest.mark.req("A-SSM-08", "A-SSM-04")
def test_every_parameter_of_a_completion_is_loaded_before_the_first_request() -> None:
    ssm = EavesdroppingSsm()
    settings, named = fill_settings(StructuredCompletionSettings)
    of_profile = {
        f"TENDER_CHECK_{part}_SSM_PARAMETER": f"/profile/{part}" for part in ("PROVIDER", "MODEL_ID")
    }
    chosen = {
        "MODEL_PROVIDER": "bedrock",
        "MODEL_ID": "nova-1",
        "STRUCTURED_COMPLETION_PROFILES": TENDER_CHECK,
    }

    parts = build_parts(settings.to_env() | chosen | of_profile, FixedClock(), reader(ssm), warm=False)
    loaded = list(ssm.asked)
    parts.service.choose(decode_request(payload(modelProfile="tender-check"), hosts=()))

    assert ssm.asked == loaded
    assert_all_in([*named, *of_profile.values()], loaded)


def assert_all_in(named: list[str], batches: list[tuple[str, ...]]) -> None:
    """Each name, or a longer one that begins with it, was loaded, in as few calls as SSM allows."""
    loaded = [name for batch in batches for name in batch]
    assert all(any(name.startswith(start) for name in loaded) for start in named)
    assert len(batches) == -(-len(loaded) // 10)


def _list_model_parameters(settings: LimitSettings) -> tuple[Parameter, ...]:
    return list_gateway_parameters(settings) if isinstance(settings, WorkerSettings) else ()


def _open_gateway(settings: WorkerSettings, parameters: ParameterReader) -> GatewayService:
    return build_gateway(
        settings,
        cast("Any", None),
        FixedClock(),
        parameters=parameters,
        store=MemoryProviderHealthAdapter(),
        warm=None,
    )


def fill_settings(settings_of: type[Any]) -> tuple[Any, list[str]]:
    """Return settings that name every parameter they can, and the names or their beginnings."""
    names = [f.name for f in fields(settings_of) if f.name.endswith(("_ssm_parameter", "_ssm_prefix"))]
    required: dict[str, Any] = {f.name: "x" for f in fields(settings_of) if f.default is MISSING}
    named = {name: f"/parameter/{name}" for name in names}
    return settings_of(**required, **cast("Any", named)), list(named.values())


@pytest.mark.req("A-SSM-08")
def test_a_parameter_is_named_only_where_it_is_also_listed_for_loading() -> None:
    naming = {
        module.name
        for module in list_modules()
        if "equerry.adapters.aws.parameters" in list_imports(module.tree)
        and "Parameter" in list_identifiers(module.tree)
    }

    # Each of them stands in one of the two tests above.
    assert naming == {
        "equerry.adapters.aws.switches",
        "equerry.runtime.completion_models",
        "equerry.runtime.gateway",
        "equerry.runtime.parameters",
    }


@pytest.mark.req("A-SSM-01")
def test_all_reads_of_ssm_go_through_the_one_reader_of_the_process() -> None:
    asks = {"ssm", "get_parameter", "get_parameters", "get_parameters_by_path", "SignedSsm"}

    # The last is the one function whose first frame does not wait for an SDK.
    assert list_users(asks) <= {
        "equerry.adapters.aws.clients",
        "equerry.adapters.aws.parameters",
        "equerry.adapters.aws.signed_ssm",
        "equerry.runtime.parameters",
        "equerry.runtime.completion_streaming",
    }
    assert list_makers("ParameterReader") <= {
        "equerry.runtime.parameters",
        "equerry.runtime.completion_streaming",
    }
    assert open_parameters() is open_parameters()


def list_users(names: set[str]) -> set[str]:
    return {module.name for module in list_modules() if names & list_identifiers(module.tree)}


def list_makers(kind: str) -> set[str]:
    """Return the modules that call a class."""
    return {
        module.name
        for module in list_modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and kind in list_identifiers(node.func)
    }


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
    with start_aws("moto") as clients:
        address = {"host": "h", "port": 5432, "dbname": "d", "username": "u", "password": "p"}
        made = clients.secrets.create_secret(Name="database", SecretString=json.dumps(address))
        required["database_secret_arn"] = made["ARN"]
        settings = HttpSettings(**required, assistant_enabled_ssm_parameter=NAME)
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

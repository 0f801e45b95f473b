"""SwitchPort: over memory and over Systems Manager."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import pytest
from equerry.adapters.aws.parameters import ParameterReader
from equerry.adapters.aws.switches import ParameterSwitchAdapter
from equerry.domain.switches import NamedLevel, Switches
from equerry.ports.switches import SwitchPort

from tests.contract.aws_backends import BACKENDS, new_name, start_aws
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import MemoryMetricAdapter
from tests.fakes.switches import MemorySwitchAdapter

KEPT_S = 30
LEVELS: tuple[NamedLevel, ...] = get_args(NamedLevel)


class Write(Protocol):
    def __call__(self, text: str | None, level: Literal["platform"] | NamedLevel = "platform") -> None: ...


@dataclass(frozen=True)
class Console:
    """An operator at the switches; None makes one unreadable."""

    switch: SwitchPort
    set: Write
    wait: Callable[[float], None]


@pytest.fixture(params=["memory", *BACKENDS])
def console(request: pytest.FixtureRequest) -> Iterator[Console]:
    if request.param == "memory":
        fake = MemorySwitchAdapter()
        yield Console(fake, fake.set, lambda _seconds: None)
        return
    with start_aws(request.param) as clients:
        clock, base = FixedClock(), f"/equerry/{new_name()}"
        exists: set[str] = set()

        def write(text: str | None, level: Literal["platform"] | NamedLevel = "platform") -> None:
            name = f"{base}/assistant-enabled" if level == "platform" else f"{base}/off/{level}"
            if text is not None:
                clients.ssm.put_parameter(Name=name, Value=text, Type="String", Overwrite=True)
                exists.add(name)
            elif name in exists:
                clients.ssm.delete_parameter(Name=name)
                exists.remove(name)

        switch = ParameterSwitchAdapter(
            ParameterReader(clients.ssm, clock),
            metrics=MemoryMetricAdapter(),
            name=f"{base}/assistant-enabled",
            prefix=f"{base}/off",
        )
        yield Console(switch, write, clock.advance)
        write(None)
        for level in LEVELS:
            write(None, level)


def list_off(switches: Switches) -> dict[str, list[str]]:
    """Return everything that is off, by level."""
    levels = {
        "tenant": switches.tenants,
        "surface": switches.surfaces,
        "pack": switches.packs,
        "tool": switches.tools,
        "model": switches.models,
    }
    off = {level: sorted(names) for level, names in levels.items() if names}
    return off if switches.platform else {**off, "platform": [""]}


@pytest.mark.req("A-KILL-05")
@pytest.mark.parametrize("text", [None, "perhaps", "0", "true", " TRUE "])
def test_a_switch_that_nobody_turned_off_is_on(console: Console, text: str | None) -> None:
    console.set(text)

    assert console.switch.is_on()


@pytest.mark.req("A-KILL-04")
@pytest.mark.parametrize("text", ["false", " False\n"])
def test_turned_off_it_is_off_within_30_seconds_and_on_again_as_soon(console: Console, text: str) -> None:
    console.set("true")
    assert console.switch.is_on()

    console.set(text)
    console.wait(KEPT_S)
    assert not console.switch.is_on()

    console.set("true")
    console.wait(KEPT_S)
    assert console.switch.is_on()


@pytest.mark.req("A-KILL-06")
@pytest.mark.parametrize("then", [None, "perhaps"])
def test_off_stays_off_until_somebody_turns_it_on(console: Console, then: str | None) -> None:
    console.set("false")
    assert not console.switch.is_on()

    for _ in range(5):
        console.set(then)
        console.wait(KEPT_S)
        assert not console.switch.is_on()

    console.set("true")
    console.wait(KEPT_S)
    assert console.switch.is_on()


def test_nothing_is_off_until_somebody_says_so(console: Console) -> None:
    assert console.switch.read() == Switches()


@pytest.mark.req("F-INC-01", "F-INC-02", "F-INC-03")
@pytest.mark.parametrize("level", LEVELS)
def test_each_level_is_stopped_alone_within_30_seconds_and_is_back_as_soon(
    console: Console, level: NamedLevel
) -> None:
    console.set("-", level)
    assert list_off(console.switch.read()) == {}

    console.set("one,two", level)
    console.wait(KEPT_S)
    assert list_off(console.switch.read()) == {level: ["one", "two"]}

    console.set(" two ", level)
    console.wait(KEPT_S)
    assert list_off(console.switch.read()) == {level: ["two"]}

    console.set("-", level)
    console.wait(KEPT_S)
    assert list_off(console.switch.read()) == {}


@pytest.mark.req("A-KILL-06", "F-INC-01")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("then", [None, "['one']", "one two", ""])
def test_what_is_off_on_a_level_stays_off_while_its_setting_says_nothing(
    console: Console, level: NamedLevel, then: str | None
) -> None:
    console.set("one", level)
    assert list_off(console.switch.read()) == {level: ["one"]}

    for _ in range(3):
        if then != "":
            console.set(then, level)
        console.wait(KEPT_S)
        assert list_off(console.switch.read()) == {level: ["one"]}


@pytest.mark.req("F-INC-02")
def test_of_a_setting_that_is_partly_readable_the_readable_part_holds(console: Console) -> None:
    console.set("one", "tool")
    assert list_off(console.switch.read()) == {"tool": ["one"]}

    console.set("two,,'three'", "tool")
    console.wait(KEPT_S)

    assert list_off(console.switch.read()) == {"tool": ["one", "two"]}


def test_a_tool_is_off_by_its_name_or_its_pack_and_a_model_by_its_name_or_its_provider(
    console: Console,
) -> None:
    console.set("search_docs", "tool")
    console.set("estimating", "pack")
    console.set("anthropic/large,bedrock", "model")
    switches = console.switch.read()

    assert not switches.is_tool_on("search_docs", pack="docs")
    assert switches.is_tool_on("lookup_docs", pack="docs")
    assert not switches.is_tool_on("rate", pack="estimating")
    assert not switches.is_model_on("anthropic", "large")
    assert switches.is_model_on("anthropic", "small")
    assert not switches.is_model_on("bedrock", "eu.anthropic.claude-x-v1:0")

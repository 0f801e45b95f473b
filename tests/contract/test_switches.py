"""SwitchPort: over memory and over Systems Manager."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from equerry.adapters.aws.parameters import ParameterReader, ParameterSwitchAdapter
from equerry.ports.switches import SwitchPort

from tests.contract.aws_backends import BACKENDS, new_name, start_aws
from tests.fakes.clock import FixedClock
from tests.fakes.switches import MemorySwitchAdapter

KEPT_S = 30


@dataclass(frozen=True)
class Console:
    """An operator at the switch; None makes it unreadable."""

    switch: SwitchPort
    set: Callable[[str | None], None]
    wait: Callable[[float], None]


@pytest.fixture(params=["memory", *BACKENDS])
def console(request: pytest.FixtureRequest) -> Iterator[Console]:
    if request.param == "memory":
        fake = MemorySwitchAdapter()
        yield Console(fake, fake.set, lambda _seconds: None)
        return
    with start_aws(request.param) as clients:
        clock, name = FixedClock(), f"/equerry/{new_name()}/assistant-enabled"
        exists: list[str] = []

        def write(text: str | None) -> None:
            if text is not None:
                clients.ssm.put_parameter(Name=name, Value=text, Type="String", Overwrite=True)
                exists.append(name)
            elif exists:
                clients.ssm.delete_parameter(Name=name)
                exists.clear()

        yield Console(
            ParameterSwitchAdapter(ParameterReader(clients.ssm, clock), name=name), write, clock.advance
        )
        write(None)


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

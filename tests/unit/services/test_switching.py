"""One tool, one pack or one model is stopped; everything else of the turn goes on."""

from collections.abc import Callable, Mapping

import pytest
from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import ScriptedRound, call, replay, say
from equerry.domain.composition import compose_prompt
from equerry.domain.profiles import Profile
from equerry.domain.switches import ModelSwitchedOff, NamedLevel
from equerry.engine.assistant import Assistant
from equerry.engine.messages import ToolResultBlock
from equerry.engine.model import Prompt, ToolSpec
from equerry.engine.run_loop import RunLoop, RunOutcome
from equerry.engine.thread import Thread
from equerry.engine.tool import Tool, ToolEffect, ToolOutcome
from equerry.services.model_switching import guard_model
from equerry.services.switching import ToolSwitchService

from tests.fakes.clock import FixedClock
from tests.fakes.switches import MemorySwitchAdapter

PACKS = {"search": "docs", "lookup": "docs", "rate": "estimating"}
PROFILE = Profile(
    name="docs", version="1", title="Docs", identity="You help.", guidance="Be brief.", tools=tuple(PACKS)
)


class CountingTool:
    """Counts its calls, and lets something happen after the first."""

    label = "Working"
    effect: ToolEffect = "read"

    def __init__(self, name: str, then: Callable[[], None] = lambda: None) -> None:
        self.spec = ToolSpec(name=name, description="Works.", input_schema={"type": "object"})
        self.calls = 0
        self._then = then

    def run(self, _arguments: Mapping[str, object]) -> ToolOutcome:
        self.calls += 1
        self._then()
        return ToolOutcome(content="done")


def board(switch: MemorySwitchAdapter) -> ToolSwitchService:
    return ToolSwitchService(switch=switch, pack_of=PACKS.__getitem__)


def names(tools: tuple[Tool, ...]) -> list[str]:
    return [tool.spec.name for tool in tools]


def play(tools: tuple[Tool, ...], *rounds: ScriptedRound) -> RunOutcome:
    clock = FixedClock()
    model = FixtureModelAdapter(clock, script=replay(list(rounds)))
    assistant = Assistant(prompt=Prompt(stable="Be brief."), tools=tools)
    return RunLoop(stream_round=model.stream, clock=clock).run(assistant, Thread().say("Well?"))


@pytest.mark.req("F-INC-01", "F-INC-02")
@pytest.mark.parametrize(
    ("level", "off", "left"),
    [
        ("tool", "search", ["lookup", "rate"]),
        ("pack", "docs", ["rate"]),
        ("pack", "estimating", ["search", "lookup"]),
        ("tool", "-", ["search", "lookup", "rate"]),
    ],
)
def test_what_is_off_is_withheld_from_the_next_turn_and_told(
    level: NamedLevel, off: str, left: list[str]
) -> None:
    switch = MemorySwitchAdapter()
    switch.set(off, level)

    offered = board(switch).offer(tuple(CountingTool(name) for name in PACKS))
    degraded = board(switch).list_degraded(PROFILE)

    assert names(offered) == left
    assert list(degraded) == [name for name in PACKS if name not in left]


@pytest.mark.req("F-INC-02", "F-INC-03")
@pytest.mark.parametrize(("level", "off"), [("tool", "search"), ("pack", "docs")])
def test_a_tool_that_goes_off_in_mid_turn_is_not_called_again_and_the_turn_ends_well(
    level: NamedLevel, off: str
) -> None:
    switch = MemorySwitchAdapter()
    search, rate = CountingTool("search", lambda: switch.set(off, level)), CountingTool("rate")

    outcome = play(
        board(switch).offer((search, rate)),
        call("search", call_id="1"),
        call("search", call_id="2"),
        call("rate", call_id="3"),
        say("That is all I could find."),
    )

    assert (search.calls, rate.calls) == (1, 1)
    assert (outcome.stop, outcome.text) == ("end_turn", "That is all I could find.")
    results = [b for m in outcome.thread.messages for b in m.blocks if isinstance(b, ToolResultBlock)]
    assert [result.ok for result in results] == [True, False, True]
    assert "switched off" in results[1].content


@pytest.mark.req("F-INC-01", "F-INC-03")
@pytest.mark.parametrize("off", ["fixture", "fixture/script-1"])
def test_a_model_that_goes_off_in_mid_turn_is_not_asked_for_another_round(off: str) -> None:
    switch, clock = MemorySwitchAdapter(), FixedClock()
    model = FixtureModelAdapter(clock, script=replay([call("search"), say("never said")]))
    guarded = guard_model(model, switch)
    assert (guarded.choice.provider, guarded.choice.model) == ("fixture", "script-1")
    tool = CountingTool("search", lambda: switch.set(off, "model"))

    loop = RunLoop(stream_round=guarded.stream, clock=clock)
    outcome = loop.run(Assistant(prompt=Prompt(stable="."), tools=(tool,)), Thread().say("Well?"))

    assert outcome.stop == "error"
    assert isinstance(outcome.error, ModelSwitchedOff)
    assert len(model.requests) == 1


@pytest.mark.parametrize("off", ["another", "fixture/another"])
def test_a_model_answers_on_while_another_is_off(off: str) -> None:
    switch, clock = MemorySwitchAdapter(), FixedClock()
    switch.set(off, "model")
    model = FixtureModelAdapter(clock, script=replay([say("Hello.")]))

    loop = RunLoop(stream_round=guard_model(model, switch).stream, clock=clock)
    assert loop.run(Assistant(prompt=Prompt(stable=".")), Thread().say("Well?")).text == "Hello."


def test_the_model_is_told_of_what_is_off_after_the_cache_boundary() -> None:
    plain = compose_prompt(PROFILE, retrieves=True, nonce="n" * 22)
    told = compose_prompt(PROFILE, retrieves=True, nonce="n" * 22, degraded=("search", "lookup"))

    assert told.stable == plain.stable
    assert "search, lookup" in told.dynamic
    assert "search" not in plain.dynamic

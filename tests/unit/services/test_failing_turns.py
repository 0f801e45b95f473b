"""A turn that fails, is cut off or is taken up again reaches no tool that it was not composed with."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from equerry.adapters.fixture.script import Pause, ScriptedRound, call, fail, replay, say
from equerry.domain.evidence import Evidence
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Scope
from equerry.domain.profiles import Profile
from equerry.engine.messages import ToolResultBlock
from equerry.engine.model import ModelRequest, RoundEnd, TextDelta, ToolSpec
from equerry.engine.tool import Tool, ToolEffect, ToolOutcome
from equerry.kernel.errors import Unavailable
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelUnavailable
from equerry.services.pulse import ALIVE_S

from tests.unit.services.world import Mortality, ProcessKilled, World


@dataclass
class CountingTool:
    """Counts its calls; fails when told to."""

    name: str
    fails: bool = False
    effect: ToolEffect = "write"
    label: str = "Doing it"
    calls: int = 0

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description="Does it.", input_schema={"type": "object"})

    def run(self, _arguments: Mapping[str, object]) -> ToolOutcome:
        self.calls += 1
        if self.fails:
            raise Unavailable("out of order")
        return ToolOutcome(content="done")


@dataclass
class Registry:
    """Every tool there is, and what a turn is composed with."""

    granted: CountingTool = field(default_factory=lambda: CountingTool("granted", fails=True))
    withheld: CountingTool = field(default_factory=lambda: CountingTool("withheld"))
    built: int = 0

    def build(self, _profile: Profile, _scope: Scope, _evidence: Evidence, _nonce: str) -> tuple[Tool, ...]:
        self.built += 1
        return (self.granted,)


def results(request: ModelRequest) -> list[str]:
    return [b.content for m in request.thread.messages for b in m.blocks if isinstance(b, ToolResultBlock)]


@pytest.mark.req("F-RUN-07")
@pytest.mark.parametrize("name", ["withheld", "functions.withheld", "withheld ", "WITHHELD"])
def test_a_tool_that_fails_gives_no_way_to_one_the_turn_was_not_given(name: str) -> None:
    tools = Registry()
    rounds = [call("granted"), call(name, call_id="c2"), call("granted", call_id="c3"), say("Sorry.")]
    world = World(script=replay(rounds), build_tools=tools.build)

    world.deliver(world.submit(world.open_conversation()))

    assert (tools.granted.calls, tools.withheld.calls) == (2, 0)
    told = results(world.model.requests[-1])
    assert "The tool failed" in told[0]
    assert "There is no tool" in told[1]
    assert all([spec.name for spec in request.tools] == ["granted"] for request in world.model.requests)


@pytest.mark.req("F-RUN-07")
@pytest.mark.parametrize("kill_at", range(6, 24))
def test_whoever_takes_up_a_dead_worker_s_run_calls_no_tool(kill_at: int) -> None:
    tools = Registry()
    rounds = [call("granted"), call("withheld", call_id="c2"), fail(ModelUnavailable("away"))]
    world = World(script=replay(rounds), build_tools=tools.build, fate=Mortality(kill_at=kill_at, after=True))
    accepted = world.submit(world.open_conversation())
    with suppress(ProcessKilled):
        world.deliver(accepted)
    asked, called = len(world.model.requests), tools.granted.calls

    world.fate = Mortality()
    world.clock.advance(ALIVE_S + 1)
    world.deliver(accepted)
    world.recovery.settle_lapsed()

    if asked:
        assert (len(world.model.requests), tools.granted.calls) == (asked, called)
    assert tools.withheld.calls == 0
    assert world.types(accepted.run_id)[-1] == "done"


END = RoundEnd(stop="end_turn", usage=Usage())


@pytest.mark.req("A-LOOP-07")
@pytest.mark.parametrize(
    ("limits", "rounds", "stop"),
    [
        (TurnLimits(tool_rounds=2), [call("granted"), call("granted", call_id="c2")], "max_rounds"),
        (TurnLimits(wall_s=5), [ScriptedRound((TextDelta("So"), Pause(6), TextDelta("?"), END))], "deadline"),
        (TurnLimits(), [call("granted", usage=Usage(output_tokens=7_999))], "max_tokens"),
        (
            TurnLimits(),
            [
                ScriptedRound(
                    (
                        TextDelta("So far."),
                        *call("granted", usage=Usage(input_tokens=149_999)).steps,
                    )
                )
            ],
            "max_tokens",
        ),
        (TurnLimits(), [say("Half an ans", stop="max_tokens")], "max_tokens"),
    ],
    ids=["rounds", "time", "output", "input", "one answer"],
)
def test_a_turn_that_a_limit_cut_off_says_so_and_is_counted(
    limits: TurnLimits, rounds: list[ScriptedRound], stop: str
) -> None:
    tools = Registry()
    world = World(script=replay(rounds), build_tools=tools.build, limits=limits)
    accepted = world.submit(world.open_conversation())

    world.deliver(accepted)

    assert world.envelopes(accepted.run_id)[-1].payload["stopReason"] == stop
    assert world.metrics.list_amounts("TurnTruncated") == [1]
    assert world.metrics.list_amounts("TurnErrors") == []


def test_an_unusable_round_is_told_before_the_end() -> None:
    world = World(script=replay([say("Half", stop="malformed")]))
    accepted = world.submit(world.open_conversation())

    world.deliver(accepted)

    *_, error, done = world.envelopes(accepted.run_id)
    assert (error.type, error.payload["code"]) == ("error", "model_unavailable")
    assert (done.type, done.payload["stopReason"]) == ("done", "error")

"""A gateway over scripted models."""

from dataclasses import dataclass, field

from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import ScriptedRound, say
from equerry.domain.retirements import Retirements
from equerry.domain.routing import Purpose, Route
from equerry.engine.model import (
    ModelChoice,
    ModelEvent,
    ModelRequest,
    Prompt,
    RoundEnd,
    StillWorking,
    TextDelta,
)
from equerry.engine.thread import Thread
from equerry.ports.model import (
    ModelPort,
    ModelUnavailable,
)
from equerry.services.gateway import ConcurrencyLimit, GatewayService
from equerry.services.model_watch import ModelWatchService
from equerry.services.provider_health import ProviderHealthService

from tests.contract.models.clock import ScriptedClock
from tests.fakes.metrics import MemoryMetricAdapter
from tests.fakes.provider_health import MemoryProviderHealthAdapter

MAIN = ModelChoice(provider="anthropic", model="claude-1")
SPARE = ModelChoice(provider="bedrock", model="nova-1")
DOWN = ModelUnavailable("down", cause="overloaded", attempts=2)
GONE = ModelUnavailable("gone", cause="connection")
ANSWER = say("Widgets ", "are painted.")


@dataclass
class House:
    """A gateway over scripted models; `rounds` is what each plays, in order, the last one for ever."""

    rounds: dict[ModelChoice, list[ScriptedRound]]
    arms: tuple[ModelChoice, ...] = (MAIN, SPARE)
    clock: ScriptedClock = field(default_factory=ScriptedClock)
    store: MemoryProviderHealthAdapter = field(default_factory=MemoryProviderHealthAdapter)
    limit: ConcurrencyLimit = field(default_factory=lambda: ConcurrencyLimit(4, wait_s=0))
    routed: list[Purpose] = field(default_factory=list)
    models: dict[ModelChoice, FixtureModelAdapter] = field(default_factory=dict)
    metrics: MemoryMetricAdapter = field(default_factory=MemoryMetricAdapter)
    retirements: Retirements = field(default_factory=lambda: Retirements({}))

    def __post_init__(self) -> None:
        self.health = self.new_process()
        self.gateway = GatewayService(
            find_route=self._route,
            open_model=self.open_model,
            find_limit=lambda _: self.limit,
            health=self.health,
            watch=ModelWatchService(clock=self.clock, retirements=self.retirements, metrics=self.metrics),
            clock=self.clock,
        )

    def new_process(self) -> ProviderHealthService:
        return ProviderHealthService(store=self.store, clock=self.clock, start=lambda act: act())

    def open_model(self, choice: ModelChoice) -> ModelPort:
        if choice not in self.models:
            left = self.rounds[choice]
            self.models[choice] = FixtureModelAdapter(
                self.clock, script=lambda _: left.pop(0) if len(left) > 1 else left[0], choice=choice
            )
        return self.models[choice]

    def play(self, **changes: object) -> list[ModelEvent]:
        stream = self.gateway.open("conversational").stream(ask(**changes))
        return [event for event in stream if not isinstance(event, StillWorking)]

    def count(self, choice: ModelChoice) -> int:
        return len(self.models[choice].requests) if choice in self.models else 0

    def _route(self, purpose: Purpose) -> Route:
        self.routed.append(purpose)
        return Route(arms=self.arms)


def ask(**changes: object) -> ModelRequest:
    given: dict[str, object] = {
        "prompt": Prompt(stable="x"),
        "thread": Thread().say("How?"),
        "deadline_s": 60.0,
    }
    return ModelRequest(**{**given, **changes})  # type: ignore[arg-type]  # a test's brevity


def end_of(events: list[ModelEvent]) -> RoundEnd:
    last = events[-1]
    assert isinstance(last, RoundEnd)
    return last


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))

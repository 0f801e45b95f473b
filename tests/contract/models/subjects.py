"""The three adapters, each made to do what a test of the port's promises needs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import anthropic
from equerry.adapters.anthropic.model import AnthropicWire
from equerry.adapters.embedded.extractive import ExtractiveModelAdapter
from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import ScriptedRound, call, fail, say
from equerry.adapters.rounds.attempt import Timeouts
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.adapters.rounds.retrying import RetryPolicy
from equerry.engine.model import ModelRequest, TextDelta
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelPort, ModelRejected, ModelUnavailable

from tests.contract.models.clock import ScriptedClock
from tests.strict import anthropic_events as wire
from tests.strict.anthropic_server import KEY, StrictAnthropicServer, serve_anthropic

Act = Literal["search", "answer", "unavailable", "rejected", "break off"]
"""What the provider does next. The extractive responder decides by itself and never fails."""


@dataclass(slots=True)
class Subject:
    """An adapter under test.

    `play` sets the provider's next acts; `was_closed` tells whether it saw the stream end early.
    """

    model: ModelPort
    play: Callable[..., None]
    was_closed: Callable[[], bool]


class RealClock:
    """Wall time, because the strict server is a real one."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


@contextmanager
def fixture_subject() -> Iterator[Subject]:
    acts: list[Act] = []
    usage = Usage(input_tokens=5, output_tokens=2)
    rounds: dict[Act, ScriptedRound] = {
        "search": call("search_docs", query="widgets", usage=usage),
        "answer": say("Widgets ", "are ", "painted.", usage=usage),
        "unavailable": fail(ModelUnavailable("busy")),
        "rejected": fail(ModelRejected("no")),
        "break off": fail(ModelUnavailable("gone"), TextDelta("Half")),
    }

    def choose(_request: ModelRequest) -> ScriptedRound:
        return rounds[acts.pop(0)]

    model = FixtureModelAdapter(ScriptedClock(), script=choose)
    yield Subject(model, lambda *more: acts.extend(more), lambda: model.abandoned == 1)


@contextmanager
def extractive_subject() -> Iterator[Subject]:
    yield Subject(ExtractiveModelAdapter(clock=ScriptedClock()), lambda *_: None, lambda: True)


@contextmanager
def anthropic_subject() -> Iterator[Subject]:
    answer = wire.message(wire.text("Widgets ", "are ", "painted."))
    replies: dict[Act, tuple[wire.Reply | tuple[wire.Item, ...], ...]] = {
        "search": (wire.message(wire.tool('{"query": "wid', 'gets"}'), stop="tool_use"),),
        "answer": ((*answer[:4], wire.Stall(0.1), *answer[4:]),),
        "unavailable": (wire.Failure(529, "overloaded_error"),) * 2,
        "rejected": (wire.Failure(400, "invalid_request_error"),),
        "break off": ((*answer[:4], wire.Drop()),),
    }
    with serve_anthropic() as server, connect(server) as model:

        def play(*acts: Act) -> None:
            for act in acts:
                server.play(*replies[act])

        yield Subject(model, play, lambda: server.hung_up.wait(2))


@contextmanager
def connect(
    server: StrictAnthropicServer,
    *,
    key: str = KEY,
    timeouts: Timeouts = Timeouts(connect=1, idle=2, first_event=2),  # noqa: B008  # frozen
    retries: RetryPolicy = RetryPolicy(attempts=2, first_wait_s=0.01, least_useful_s=0.1),  # noqa: B008  # frozen
) -> Iterator[DrivenModelAdapter]:
    """An Anthropic adapter at the strict server, with patience fit for tests."""
    with anthropic.Anthropic(api_key=key, base_url=server.url, max_retries=0) as client:
        yield DrivenModelAdapter(
            AnthropicWire(client, model="claude-test-1"),
            clock=RealClock(),
            jitter=lambda: 0.0,
            timeouts=timeouts,
            retries=retries,
        )

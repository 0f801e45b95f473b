"""The adapters, each made to do what a test of the port's promises needs."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal

import anthropic
import httpx2
import openai
from botocore.session import Session, get_session
from equerry.adapters.anthropic.model import AnthropicWire
from equerry.adapters.bedrock.model import BedrockWire, build_config, prepare_client
from equerry.adapters.embedded.extractive import ExtractiveModelAdapter
from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import ScriptedRound, call, fail, say
from equerry.adapters.google.model import GoogleWire
from equerry.adapters.openai.model import OpenAiWire
from equerry.adapters.rounds.attempt import Timeouts
from equerry.adapters.rounds.driver import DrivenModelAdapter, Wire
from equerry.adapters.rounds.retrying import RetryPolicy
from equerry.engine.model import ModelRequest, TextDelta
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelPort, ModelRejected, ModelUnavailable

from tests.contract.models.clock import ScriptedClock
from tests.strict import (
    anthropic_events,
    anthropic_server,
    bedrock_events,
    bedrock_server,
    google_events,
    google_server,
    openai_events,
    openai_server,
)
from tests.strict.anthropic_server import serve_anthropic
from tests.strict.bedrock_server import serve_bedrock
from tests.strict.google_server import serve_google
from tests.strict.openai_server import serve_openai
from tests.strict.replies import Drop, Event, Failure, Item, Reply, Stall
from tests.strict.server import StrictServer

Act = Literal["search", "answer", "unavailable", "rejected", "break off"]
"""What the provider does next. The extractive responder decides by itself and never fails."""
Items = tuple[Item, ...]
PATIENT = Timeouts(connect=10, idle=30, first_event=30)
"""Nobody who lives takes so long, however busy the machine is."""
BRISK = RetryPolicy(attempts=2, first_wait_s=0.01, least_useful_s=0.1)


@dataclass(slots=True)
class Subject:
    """An adapter under test.

    `play` sets the provider's next acts; `was_closed` tells whether it saw the stream end early; `in_pieces`
    whether its words come as they are written.
    """

    model: ModelPort
    play: Callable[..., None]
    was_closed: Callable[[], bool]
    in_pieces: bool = True


class RealClock:
    """Wall time, because the strict servers are real ones."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


Open = Callable[[StrictServer, str, Timeouts], AbstractContextManager[Wire]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """A provider's wire: its server, its adapter, and the same things said in its words.

    Attributes:
        answer: "Widgets are painted." in three deltas; `half` ends behind the first.
        call: a round that stops for one whole call of `search_docs`, after the thought "Let me see."
        cut_off: half of a call, and the stop for want of tokens.
        whole_but_cut_off: a call with nothing missing, and the same stop.
        unusable: a call whose arguments are no JSON, and the stop for calls.
        filtered: half of an answer and a whole call that the provider's filter then ended.
        failures: what may pass, by cause; `refusals` what will not: True where another model may serve.
        in_band: an overload in mid-stream.
    """

    name: str
    serve: Callable[[], AbstractContextManager[StrictServer]]
    open: Open
    key: str
    answer: tuple[Event, ...]
    half: int
    call: Items
    cut_off: Items
    whole_but_cut_off: Items
    unusable: Items
    filtered: Items
    failures: Mapping[str, Reply]
    refusals: Mapping[bool, tuple[Reply, ...]]
    in_band: Event
    reads_documents: bool = False
    counts_cache_writes: bool = True
    emitted: Items = ()

    @property
    def forced(self) -> Items:
        """The call where the tool was forced: `emitted` where the wire has words of its own for that."""
        return self.emitted or self.call

    @contextmanager
    def connect(
        self,
        server: StrictServer,
        *,
        key: str | None = None,
        timeouts: Timeouts = PATIENT,
        retries: RetryPolicy = BRISK,
    ) -> Iterator[DrivenModelAdapter]:
        """An adapter at the strict server, with patience fit for tests."""
        with self.open(server, key or self.key, timeouts) as wire:
            yield DrivenModelAdapter(
                wire, clock=RealClock(), jitter=lambda: 0.0, timeouts=timeouts, retries=retries
            )


@contextmanager
def open_anthropic(server: StrictServer, key: str, _timeouts: Timeouts) -> Iterator[Wire]:
    with anthropic.Anthropic(api_key=key, base_url=server.url, max_retries=0) as client:
        yield AnthropicWire(client, model="claude-test-1")


@contextmanager
def open_openai(server: StrictServer, key: str, _timeouts: Timeouts) -> Iterator[Wire]:
    with openai.OpenAI(api_key=key, base_url=server.url, max_retries=0) as client:
        yield OpenAiWire(client, model="gpt-test-1")


@contextmanager
def open_bedrock(server: StrictServer, key: str, timeouts: Timeouts) -> Iterator[Wire]:
    with closing(create_bedrock_client(server.url, key, timeouts)) as client:
        yield BedrockWire(client, model=bedrock_server.MODEL)


@contextmanager
def open_google(server: StrictServer, key: str, _timeouts: Timeouts) -> Iterator[Wire]:
    with httpx2.Client(base_url=server.url, headers={"x-goog-api-key": key}) as client:
        yield GoogleWire(client, model=google_server.MODEL)


@cache
def share_session() -> Session:
    """Reading the service's model takes longer than most tests."""
    return get_session()


def create_bedrock_client(url: str, key: str, timeouts: Timeouts) -> Any:
    client = share_session().create_client(
        "bedrock-runtime",
        region_name="eu-central-1",
        endpoint_url=url,
        aws_access_key_id=key,
        aws_secret_access_key="a-secret",
        config=build_config(timeouts),
    )
    return prepare_client(client)


def _build_anthropic() -> Kit:
    wire = anthropic_events
    whole = wire.tool('{"query": "wid', 'gets"}')
    return Kit(
        name="anthropic",
        serve=serve_anthropic,
        open=open_anthropic,
        key=anthropic_server.KEY,
        answer=wire.message(wire.text("Widgets ", "are ", "painted.")),
        half=4,
        call=wire.message(wire.thinking("Let me see."), whole, stop="tool_use", reasoning_tokens=7),
        cut_off=wire.message(wire.text("Let me look."), wire.tool('{"query": "wid'), stop="max_tokens"),
        whole_but_cut_off=wire.message(wire.text("Let me look."), whole, stop="max_tokens"),
        unusable=wire.message(wire.tool('{"query": '), stop="tool_use"),
        filtered=wire.message(wire.text("Let me"), whole, stop="refusal"),
        failures={
            "throttled": wire.Failure(429, "rate_limit_error"),
            "overloaded": wire.Failure(529, "overloaded_error"),
        },
        refusals={
            False: (wire.Failure(400, "invalid_request_error"), wire.Failure(413, "request_too_large")),
            True: (
                wire.Failure(402, "billing_error"),
                wire.Failure(403, "permission_error"),
                wire.Failure(404, "not_found_error"),
            ),
        },
        in_band=wire.error("overloaded_error"),
        reads_documents=True,
    )


def _build_openai() -> Kit:
    wire = openai_events
    whole = wire.tool('{"query": "wid', 'gets"}')
    return Kit(
        name="openai",
        serve=serve_openai,
        open=open_openai,
        key=openai_server.KEY,
        answer=wire.response(wire.text("Widgets ", "are ", "painted.")),
        half=5,
        call=wire.response(wire.reasoning(), whole),
        cut_off=wire.response(
            wire.text("Let me look."),
            wire.tool('{"query": "wid')[:-2],
            end="incomplete",
            reason="max_output_tokens",
        ),
        whole_but_cut_off=wire.response(
            wire.text("Let me look."), whole, end="incomplete", reason="max_output_tokens"
        ),
        unusable=wire.response(wire.tool('{"query": ')),
        filtered=wire.response(wire.text("Let me"), whole, end="incomplete", reason="content_filter"),
        failures={
            "throttled": wire.Failure(429, "rate_limit_exceeded"),
            "overloaded": wire.Failure(503, "server_error"),
        },
        refusals={
            False: (wire.Failure(400, "invalid_prompt"), wire.Failure(422, "unprocessable")),
            True: (
                wire.Failure(429, "insufficient_quota"),
                wire.Failure(403, "unsupported_country"),
                wire.Failure(404, "model_not_found"),
            ),
        },
        in_band=wire.error("server_error"),
    )


def _build_bedrock() -> Kit:
    wire = bedrock_events
    whole = wire.tool('{"query": "wid', 'gets"}')
    return Kit(
        name="bedrock",
        serve=serve_bedrock,
        open=open_bedrock,
        key=bedrock_server.ACCESS_KEY,
        answer=wire.message(wire.text("Widgets ", "are ", "painted.")),
        half=2,
        call=wire.message(wire.reasoning(), whole, stop="tool_use"),
        cut_off=wire.message(wire.text("Let me look."), wire.tool('{"query": "wid'), stop="max_tokens"),
        whole_but_cut_off=wire.message(wire.text("Let me look."), whole, stop="max_tokens"),
        unusable=wire.message(wire.tool('{"query": '), stop="tool_use"),
        filtered=wire.message(wire.text("Let me"), whole, stop="guardrail_intervened"),
        failures={
            "throttled": wire.Failure(429, "ThrottlingException"),
            "overloaded": wire.Failure(503, "ServiceUnavailableException"),
            "timeout": wire.Failure(408, "ModelTimeoutException"),
        },
        refusals={
            False: (wire.Failure(400, "ValidationException"),),
            True: (
                wire.Failure(403, "AccessDeniedException"),
                wire.Failure(404, "ResourceNotFoundException"),
                wire.Failure(400, "ValidationException", message="The provided model identifier is invalid."),
            ),
        },
        in_band=wire.exception("serviceUnavailableException"),
    )


def _build_google() -> Kit:
    wire = google_events
    whole = wire.call(signature="sig-1")
    return Kit(
        name="google",
        serve=serve_google,
        open=open_google,
        key=google_server.KEY,
        answer=wire.answer(wire.text("Widgets ", "are ", "painted.")),
        half=1,
        call=wire.answer(wire.thought(), whole),
        emitted=wire.answer(wire.text('{"query": "wid', 'gets"}')),
        cut_off=wire.answer(wire.text("Let me look."), finish="MAX_TOKENS"),
        whole_but_cut_off=wire.answer(wire.text("Let me look."), whole, finish="MAX_TOKENS"),
        unusable=wire.answer(wire.call(args='{"query": ')),
        filtered=wire.answer(wire.text("Let me"), whole, finish="SAFETY"),
        failures={
            "throttled": wire.Failure(429, "RESOURCE_EXHAUSTED"),
            "overloaded": wire.Failure(503, "UNAVAILABLE"),
            "timeout": wire.Failure(504, "DEADLINE_EXCEEDED"),
        },
        refusals={
            False: (
                wire.Failure(400, "INVALID_ARGUMENT"),
                wire.Failure(400, "FAILED_PRECONDITION"),
                wire.Failure(501, "UNIMPLEMENTED"),
            ),
            True: (
                wire.Failure(401, "UNAUTHENTICATED"),
                wire.Failure(403, "PERMISSION_DENIED"),
                wire.Failure(404, "NOT_FOUND"),
            ),
        },
        in_band=wire.error("UNAVAILABLE"),
        counts_cache_writes=False,
    )


KITS = (_build_anthropic(), _build_openai(), _build_bedrock(), _build_google())
ANTHROPIC, OPENAI, BEDROCK, GOOGLE = KITS


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


def build_subject(kit: Kit) -> Callable[[], AbstractContextManager[Subject]]:
    """A provider's adapter as a subject of the common suite."""
    half = kit.answer[: kit.half]
    replies: dict[Act, tuple[Reply | Items, ...]] = {
        "search": (kit.call,),
        "answer": ((*half, Stall(0.1), *kit.answer[kit.half :]),),
        "unavailable": (kit.failures["overloaded"],) * 2,
        "rejected": (kit.refusals[False][0],),
        "break off": ((*half, Drop()),),
    }

    @contextmanager
    def subject() -> Iterator[Subject]:
        with kit.serve() as server, kit.connect(server) as model:

            def play(*acts: Act) -> None:
                for act in acts:
                    server.play(*replies[act])

            yield Subject(model, play, lambda: server.hung_up.wait(PATIENT.idle))

    return subject


def throttle(kit: Kit, **headers: str) -> Failure:
    """The provider asks for fewer requests, with `headers` of its own."""
    failure = kit.failures["throttled"]
    assert isinstance(failure, Failure)
    named = {name.replace("_", "-"): entry for name, entry in headers.items()}
    return Failure(failure.status, failure.kind, named)

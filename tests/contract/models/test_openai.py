"""What is particular about the Responses API: stop reasons, errors in a stream, reasoning, and caching."""

from collections.abc import Iterator

import httpx2
import openai
import pytest
from equerry.adapters.openai.model import OpenAiWire
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.engine.messages import OpaqueBlock, TextBlock
from equerry.engine.model import OpaqueState, RoundStop, ToolCallReady
from equerry.engine.thread import Thread
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelRejected, ModelUnavailable, ModelUnusable

from tests.contract.models.clock import ScriptedClock
from tests.contract.models.requests import ask, collect, end_of, text_of
from tests.contract.models.subjects import OPENAI
from tests.strict import openai_events as wire
from tests.strict.openai_server import KEY, StrictOpenAiServer, serve_openai


@pytest.fixture
def server() -> Iterator[StrictOpenAiServer]:
    with serve_openai() as running:
        yield running


@pytest.fixture
def model(server: StrictOpenAiServer) -> Iterator[DrivenModelAdapter]:
    with OPENAI.connect(server) as adapter:
        yield adapter


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("max_output_tokens", "max_tokens"),
        ("content_filter", "filtered"),
        ("a_reason_of_tomorrow", "malformed"),
        (None, "malformed"),
    ],
)
@pytest.mark.req("F-GATE-03")
def test_a_response_is_incomplete_for_a_reason(
    server: StrictOpenAiServer, model: DrivenModelAdapter, reason: str | None, stop: RoundStop
) -> None:
    server.play(wire.response(wire.text("So."), end="incomplete", reason=reason))

    assert end_of(collect(model, ask())).stop == stop


def test_reasoning_alone_may_use_up_the_allowance(
    server: StrictOpenAiServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.response(wire.reasoning(), end="incomplete", reason="max_output_tokens"))

    end = end_of(collect(model, ask()))

    assert (end.stop, end.usage.reasoning_tokens) == ("max_tokens", 7)


@pytest.mark.req("F-GATE-03")
def test_a_refusal_is_read_to_the_person_and_is_no_answer(
    server: StrictOpenAiServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.response(wire.refusal("I cannot help with that.")))

    events = collect(model, ask())

    assert (text_of(events), end_of(events).stop) == ("I cannot help with that.", "refusal")


@pytest.mark.parametrize(
    ("code", "raised"),
    [
        ("rate_limit_exceeded", ModelUnavailable),
        ("server_error", ModelUnavailable),
        ("invalid_prompt", ModelRejected),
        ("insufficient_quota", ModelUnusable),
    ],
)
def test_a_response_that_failed_is_told_by_its_code(
    server: StrictOpenAiServer, model: DrivenModelAdapter, code: str, raised: type[Exception]
) -> None:
    server.play(wire.response(end="failed", code=code, usage=None))

    with pytest.raises(raised):
        collect(model, ask(attempts=1))


@pytest.mark.parametrize("code", ["bio_policy", "misalignment_policy_violation"])
def test_a_policy_of_the_provider_s_is_a_filter(
    server: StrictOpenAiServer, model: DrivenModelAdapter, code: str
) -> None:
    server.play(wire.response(wire.text("Half"), end="failed", code=code, usage=None))

    end = end_of(collect(model, ask()))

    assert (end.stop, end.usage) == ("filtered", Usage())


def test_reasoning_without_its_content_is_not_kept(
    server: StrictOpenAiServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.response(wire.reasoning(encrypted=None), wire.text("So.")))

    assert not [event for event in collect(model, ask()) if isinstance(event, OpaqueState)]


def test_reasoning_is_not_sent_back_without_what_it_led_to(
    server: StrictOpenAiServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.response(wire.text("So.")))
    state = OpaqueBlock(provider="openai", payload='{"type": "reasoning", "id": "rs_9", "summary": []}')
    thread = Thread().say("Hello").answer(TextBlock("Hi."), state)

    collect(model, ask(thread=thread))

    assert "reasoning" not in [item.get("type") for item in server.requests[0]["input"]]


def test_several_calls_and_one_without_arguments_are_handed_over_in_order(
    server: StrictOpenAiServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.response(wire.tool('{"query": "a"}'), wire.tool(call_id="call_2")))

    calls = [event.call for event in collect(model, ask()) if isinstance(event, ToolCallReady)]

    assert [(call.call_id, dict(call.arguments)) for call in calls] == [
        ("call_1", {"query": "a"}),
        ("call_2", {}),
    ]


@pytest.mark.req("A-PROV-03")
def test_nothing_is_stored_and_schemas_are_taken_as_they_are(
    server: StrictOpenAiServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.response(wire.text("So.")))

    collect(model, ask())

    (sent,) = server.requests
    assert sent["store"] is False
    assert sent["tools"][0]["strict"] is False


def test_the_least_allowance_is_the_provider_s(server: StrictOpenAiServer, model: DrivenModelAdapter) -> None:
    server.play(wire.response(wire.text("So.")))

    collect(model, ask(max_output_tokens=1))

    assert server.violations == []


def test_one_stable_prefix_has_one_key_whatever_is_asked(
    server: StrictOpenAiServer, model: DrivenModelAdapter
) -> None:
    server.play(*[wire.response(wire.text("So."))] * 3)
    stable = "You answer out of documents. " * 100

    collect(model, ask(stable=stable, dynamic="Today is Monday."))
    collect(model, ask("Another?", stable=stable, dynamic="Today is Tuesday.", tools_allowed=False))
    collect(model, ask())

    first, second, short = server.requests
    assert first["prompt_cache_key"] == second["prompt_cache_key"]
    assert first["instructions"] == second["instructions"] == stable
    assert first["input"][0] == {"role": "developer", "content": "Today is Monday."}
    assert (first["tool_choice"], second["tool_choice"]) == ("auto", "none")
    assert "prompt_cache_key" not in short


@pytest.mark.req("F-GATE-04")
def test_a_bug_of_ours_while_sending_is_not_taken_for_a_failure_of_the_provider() -> None:
    def send(_request: httpx2.Request) -> httpx2.Response:
        raise ZeroDivisionError("a bug")

    transport = httpx2.Client(transport=httpx2.MockTransport(send))
    client = openai.OpenAI(api_key=KEY, max_retries=0, http_client=transport)
    model = DrivenModelAdapter(OpenAiWire(client, model="m"), clock=ScriptedClock(), jitter=lambda: 0.0)

    with pytest.raises(ZeroDivisionError):
        collect(model, ask())

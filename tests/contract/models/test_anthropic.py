"""The Anthropic adapter against the strict server: every fault a typed outcome, every request legal."""

import json
from collections.abc import Iterator

import anthropic
import httpx2
import pytest
from equerry.adapters.anthropic.model import AnthropicWire
from equerry.adapters.rounds.attempt import Timeouts
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.engine.messages import TextBlock
from equerry.engine.model import ModelEvent, ModelRequest, OpaqueState, RoundStop, ToolCallReady
from equerry.engine.thread import Thread
from equerry.ports.model import ModelRejected, ModelUnavailable
from equerry.runtime.clock import SystemClock

from tests.contract.models.clock import ScriptedClock
from tests.contract.models.requests import SEARCH, arguments_of, ask, collect, end_of, resolve, text_of
from tests.contract.models.subjects import ANTHROPIC
from tests.strict import anthropic_events as wire
from tests.strict.anthropic_server import KEY, StrictAnthropicServer, serve_anthropic
from tests.unit.engine.playing import ProbeTool, run

ANSWER = wire.message(wire.text("Widgets ", "are painted."))
HALF = ANSWER[:4]
SECRET_WORDS = "the merger is on Friday"


@pytest.fixture
def server() -> Iterator[StrictAnthropicServer]:
    with serve_anthropic() as running:
        yield running


@pytest.fixture
def model(server: StrictAnthropicServer) -> Iterator[DrivenModelAdapter]:
    with ANTHROPIC.connect(server) as adapter:
        yield adapter


def next_round(request: ModelRequest, events: list[ModelEvent], content: str) -> ModelRequest:
    """As the loop would go on, the provider's own state kept in its place."""
    states = [event.block for event in events if isinstance(event, OpaqueState)]
    asked = [event.call for event in events if isinstance(event, ToolCallReady)]
    answered = resolve(request, events, content)
    results = answered.thread.messages[-1]
    thread = request.thread.answer(*states, *asked)
    return ask("", thread=Thread((*thread.messages, results)))


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end_turn"),
        ("stop_sequence", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("model_context_window_exceeded", "max_tokens"),
        ("refusal", "refusal"),
        ("a_reason_of_tomorrow", "malformed"),
        ("tool_use", "malformed"),
    ],
)
@pytest.mark.req("F-GATE-03")
def test_every_stop_reason_has_its_meaning(
    server: StrictAnthropicServer, model: DrivenModelAdapter, reason: str, stop: RoundStop
) -> None:
    server.play(wire.message(wire.text("So."), stop=reason))

    assert end_of(collect(model, ask())).stop == stop


@pytest.mark.parametrize("parts", [('{"query": ',), ("[1]",)])
def test_a_tool_call_with_unusable_arguments_is_answered_and_the_turn_goes_on(
    server: StrictAnthropicServer, model: DrivenModelAdapter, parts: tuple[str, ...]
) -> None:
    server.play(wire.message(wire.tool(*parts), stop="tool_use"), ANSWER)

    outcome, _ = run(model.stream, ProbeTool(SEARCH.name), clock=SystemClock())

    assert (outcome.stop, outcome.text) == ("end_turn", "Widgets are painted.")
    (result,) = server.requests[1]["messages"][-1]["content"]
    assert (result["type"], result["is_error"]) == ("tool_result", True)


def test_several_calls_and_one_without_arguments_are_handed_over_in_order(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.message(wire.tool('{"query": "a"}'), wire.tool(call_id="toolu_2"), stop="tool_use"))

    assert arguments_of(collect(model, ask())) == [{"query": "a"}, {}]


def test_thinking_that_was_cut_off_is_not_kept(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.message(wire.thinking("Let me", signature=""), stop="max_tokens"))

    events = collect(model, ask())

    assert not [event for event in events if isinstance(event, OpaqueState)]


def test_a_paused_turn_is_taken_up_within_the_same_round(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.message(wire.text("Wait. "), wire.server_tool(), stop="pause_turn"), ANSWER)

    events = collect(model, ask())

    assert text_of(events) == "Wait. Widgets are painted."
    assert end_of(events).usage.output_tokens == 84
    said = server.requests[1]["messages"][-1]
    assert (said["role"], said["content"][0]["text"]) == ("assistant", "Wait. ")
    assert said["content"][1]["input"] == {"query": "widgets"}


def test_a_turn_that_pauses_for_ever_is_malformed(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(*[wire.message(wire.server_tool(), stop="pause_turn")] * 4)

    assert end_of(collect(model, ask())).stop == "malformed"
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    "fault",
    [
        wire.Failure(429, "rate_limit_error"),
        wire.Failure(500, "api_error"),
        wire.Failure(529, "overloaded_error"),
        wire.Drop(),
        wire.Stream((wire.Drop(),)),
        wire.Stream((*ANSWER[:2], wire.error("overloaded_error"))),
        wire.Stream((*ANSWER[:2], wire.Finish())),
        wire.Stream((wire.Raw(b"event: message_start\ndata: {oops\n\n"),)),
        wire.Stream((wire.Raw(b'event: message_start\ndata: {"type": "message_start"}\n\n'),)),
    ],
)
@pytest.mark.req("F-GATE-03")
def test_a_failure_before_the_first_word_is_tried_again(
    server: StrictAnthropicServer, model: DrivenModelAdapter, fault: wire.Reply
) -> None:
    server.play(fault, ANSWER)

    assert text_of(collect(model, ask())) == "Widgets are painted."


@pytest.mark.parametrize(
    "fault",
    [
        wire.Failure(400, "invalid_request_error"),
        wire.Failure(401, "authentication_error"),
        wire.Failure(402, "billing_error"),
        wire.Failure(403, "permission_error"),
        wire.Failure(404, "not_found_error"),
        wire.Failure(413, "request_too_large"),
        wire.Stream((*ANSWER[:2], wire.error("invalid_request_error"))),
    ],
)
@pytest.mark.req("F-GATE-03")
def test_what_repeating_cannot_change_is_not_repeated(
    server: StrictAnthropicServer, model: DrivenModelAdapter, fault: wire.Reply
) -> None:
    server.play(fault, ANSWER)

    with pytest.raises(ModelRejected):
        collect(model, ask())

    assert len(server.requests) == 1


def test_the_provider_can_ask_not_to_be_asked_again(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.Failure(429, "rate_limit_error", {"x-should-retry": "false"}), ANSWER)

    with pytest.raises(ModelUnavailable):
        collect(model, ask())


def test_a_stream_of_nothing_but_pings_does_not_count_as_begun(server: StrictAnthropicServer) -> None:
    server.play((wire.Stall(30, pings=True),), ANSWER)

    with ANTHROPIC.connect(server, timeouts=Timeouts(connect=10, idle=30, first_event=0.7)) as model:
        assert text_of(collect(model, ask())) == "Widgets are painted."

    assert server.hung_up.wait(30)


@pytest.mark.req("F-GATE-04")
def test_a_bug_of_ours_while_sending_is_not_taken_for_a_failure_of_the_provider() -> None:
    def send(_request: httpx2.Request) -> httpx2.Response:
        raise ZeroDivisionError("a bug")

    client = anthropic.Anthropic(
        api_key=KEY, max_retries=0, http_client=httpx2.Client(transport=httpx2.MockTransport(send))
    )
    model = DrivenModelAdapter(AnthropicWire(client, model="m"), clock=ScriptedClock(), jitter=lambda: 0.0)

    with pytest.raises(ZeroDivisionError):
        collect(model, ask())


@pytest.mark.req("A-PROV-04")
def test_the_request_is_in_cache_order_with_the_mark_after_what_is_stable(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(ANSWER, ANSWER)
    stable = "You answer out of documents. " * 100

    collect(model, ask(stable=stable, dynamic="Today is Monday."))
    collect(model, ask("Another question?", stable=stable, dynamic="Today is Tuesday.", tools_allowed=False))

    first, second = server.requests
    assert first["system"][0] == {"type": "text", "text": stable, "cache_control": {"type": "ephemeral"}}
    assert first["system"][1] == {"type": "text", "text": "Today is Monday."}
    assert json.dumps([first["tools"], first["system"][0]]) == json.dumps(
        [second["tools"], second["system"][0]]
    )
    assert (first["tool_choice"], second["tool_choice"]) == ({"type": "auto"}, {"type": "none"})


def test_a_short_prompt_is_not_marked(server: StrictAnthropicServer, model: DrivenModelAdapter) -> None:
    server.play(ANSWER)

    collect(model, ask())

    assert "cache_control" not in json.dumps(server.requests[0])


def test_a_failed_tool_is_said_to_have_failed(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.message(wire.tool('{"query": "a"}'), stop="tool_use"), ANSWER)
    request = ask(thread=Thread().say("Hello").answer(TextBlock("Hello.")))

    collect(model, resolve(request, collect(model, request), "The search failed.", ok=False))

    assert server.requests[1]["messages"][-1]["content"][0]["is_error"] is True
    assert server.violations == []

"""The Anthropic adapter against the strict server: every fault a typed outcome, every request legal."""

import json
import threading
import time
import traceback
from collections.abc import Iterator

import anthropic
import httpx2
import pytest
from equerry.adapters.anthropic.model import AnthropicWire, connect_anthropic
from equerry.adapters.rounds.attempt import Timeouts
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.adapters.rounds.retrying import RetryPolicy
from equerry.engine.messages import TextBlock
from equerry.engine.model import ModelEvent, ModelRequest, OpaqueState, RoundStop, TextDelta, ToolCallReady
from equerry.engine.thread import Thread
from equerry.kernel.errors import EquerryError
from equerry.ports.model import ModelCancelled, ModelRejected, ModelUnavailable

from tests.contract.models.clock import ScriptedClock
from tests.contract.models.requests import ask, collect, end_of, news, resolve, text_of
from tests.contract.models.subjects import ANTHROPIC, RealClock
from tests.strict import anthropic_events as wire
from tests.strict.anthropic_server import KEY, StrictAnthropicServer, serve_anthropic

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


def calls(events: list[ModelEvent]) -> list[dict[str, object]]:
    return [dict(event.call.arguments) for event in events if isinstance(event, ToolCallReady)]


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


def test_usage_counts_the_cache_in_with_the_input(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.message(wire.text("So."), reasoning_tokens=9))

    usage = end_of(collect(model, ask())).usage

    assert usage.input_tokens == 11 + 300 + 20
    assert (usage.cached_input_tokens, usage.cache_write_tokens) == (300, 20)
    assert (usage.output_tokens, usage.reasoning_tokens) == (42, 9)


@pytest.mark.parametrize("parts", [('{"query": "wid',), ('{"query": ', '"widgets"}')])
def test_a_tool_call_under_max_tokens_is_never_handed_over(
    server: StrictAnthropicServer, model: DrivenModelAdapter, parts: tuple[str, ...]
) -> None:
    server.play(wire.message(wire.text("Let me look."), wire.tool(*parts), stop="max_tokens"))

    events = collect(model, ask())

    assert calls(events) == []
    assert (text_of(events), end_of(events).stop) == ("Let me look.", "max_tokens")


@pytest.mark.parametrize("parts", [('{"query": ',), ("[1]",)])
def test_a_tool_call_with_unusable_arguments_makes_the_round_malformed(
    server: StrictAnthropicServer, model: DrivenModelAdapter, parts: tuple[str, ...]
) -> None:
    server.play(wire.message(wire.tool(*parts), stop="tool_use"))

    events = collect(model, ask())

    assert calls(events) == []
    assert end_of(events).stop == "malformed"


def test_several_calls_and_one_without_arguments_are_handed_over_in_order(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.message(wire.tool('{"query": "a"}'), wire.tool(call_id="toolu_2"), stop="tool_use"))

    assert calls(collect(model, ask())) == [{"query": "a"}, {}]


def test_thinking_is_kept_with_its_signature_and_sent_back_as_it_came(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(
        wire.message(wire.thinking("Let me see."), wire.tool('{"query": "a"}'), stop="tool_use"), ANSWER
    )
    request = ask()

    events = collect(model, request)
    collect(model, next_round(request, events, "Nothing."))

    assert "Let me see." not in text_of(events)
    assert server.requests[1]["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "Let me see.",
        "signature": "sig-1",
    }


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
        (wire.Drop(),),
        (wire.Finish(),),
        (wire.error("overloaded_error"),),
        (wire.Raw(b"event: content_block_delta\ndata: nonsense\n\n"),),
        (wire.Stall(1.0),),
    ],
)
@pytest.mark.req("F-GATE-03")
def test_a_failure_after_the_first_word_is_raised_and_nothing_is_asked_again(
    server: StrictAnthropicServer, fault: tuple[wire.Item, ...]
) -> None:
    server.play((*HALF, *fault), ANSWER)

    with ANTHROPIC.connect(server, timeouts=Timeouts(connect=1, idle=0.3, first_event=1)) as model:
        stream = news(model.stream(ask()))
        assert next(stream) == TextDelta("Widgets ")
        with pytest.raises(ModelUnavailable):
            next(stream)

    assert len(server.requests) == 1


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


def test_attempts_are_counted(server: StrictAnthropicServer) -> None:
    server.play(*[wire.Failure(529, "overloaded_error")] * 9)

    with (
        ANTHROPIC.connect(server, retries=RetryPolicy(first_wait_s=0.01, least_useful_s=0)) as model,
        pytest.raises(ModelUnavailable),
    ):
        collect(model, ask())

    assert len(server.requests) == 4


def test_the_provider_can_ask_not_to_be_asked_again(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.Failure(429, "rate_limit_error", {"x-should-retry": "false"}), ANSWER)

    with pytest.raises(ModelUnavailable):
        collect(model, ask())


def test_retry_after_is_obeyed_where_it_fits_the_deadline(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.Failure(429, "rate_limit_error", {"retry-after": "0.4"}), ANSWER)

    began = time.monotonic()
    collect(model, ask())

    assert time.monotonic() - began >= 0.4


def test_retry_after_beyond_the_deadline_ends_the_round_at_once(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.Failure(429, "rate_limit_error", {"retry-after": "90"}), ANSWER)

    began = time.monotonic()
    with pytest.raises(ModelUnavailable) as caught:
        collect(model, ask(deadline_s=30))

    assert time.monotonic() - began < 2
    assert caught.value.retry_after_s == 90


def test_pings_do_not_stretch_the_deadline(server: StrictAnthropicServer, model: DrivenModelAdapter) -> None:
    server.play((*HALF, wire.Stall(5, pings=True), *ANSWER[4:]))

    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match="deadline"):
        collect(model, ask(deadline_s=0.5))

    assert time.monotonic() - began < 2


def test_a_stream_of_nothing_but_pings_does_not_count_as_begun(server: StrictAnthropicServer) -> None:
    server.play((wire.Stall(5, pings=True),), ANSWER)

    began = time.monotonic()
    with ANTHROPIC.connect(server, timeouts=Timeouts(connect=1, idle=1, first_event=0.3)) as model:
        assert text_of(collect(model, ask())) == "Widgets are painted."

    assert time.monotonic() - began < 3


def test_no_connection_is_unavailable() -> None:
    model = connect_anthropic(
        model="claude-test-1",
        api_key=KEY,
        base_url="http://127.0.0.1:9",
        clock=RealClock(),
        jitter=lambda: 0.0,
    )

    with pytest.raises(ModelUnavailable, match="connection"):
        collect(model, ask(deadline_s=1))


@pytest.mark.parametrize(
    "fault", [wire.Failure(400, "invalid_request_error", message=SECRET_WORDS), wire.Drop()]
)
def test_neither_key_nor_prompt_is_in_what_is_raised(
    server: StrictAnthropicServer, model: DrivenModelAdapter, fault: wire.Reply
) -> None:
    server.play(fault, fault)

    with pytest.raises(EquerryError) as caught:
        collect(model, ask(SECRET_WORDS))

    told = "".join(traceback.format_exception(caught.value))
    assert KEY not in told
    assert SECRET_WORDS not in told


def test_a_wrong_key_is_rejected_and_not_repeated_in_the_error(server: StrictAnthropicServer) -> None:
    with ANTHROPIC.connect(server, key="sk-ant-mistyped") as model, pytest.raises(ModelRejected) as caught:
        collect(model, ask())

    assert "sk-ant-mistyped" not in "".join(traceback.format_exception(caught.value))


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


def test_the_deadline_ends_a_stream_that_has_gone_silent(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play((*HALF, wire.Stall(1.5), *ANSWER[4:]))

    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match="deadline"):
        collect(model, ask(deadline_s=0.4))

    assert time.monotonic() - began < 1.4


def test_a_cancellation_ends_a_stream_that_has_gone_silent(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    server.play((*HALF, wire.Stall(1.5), *ANSWER[4:]))
    request = ask()
    stream = news(model.stream(request))
    next(stream)

    threading.Timer(0.1, request.cancellation.cancel).start()

    with pytest.raises(ModelCancelled):
        next(stream)
    assert server.hung_up.wait(1)


def test_a_cancelled_round_is_not_begun_and_not_tried_again(
    server: StrictAnthropicServer, model: DrivenModelAdapter
) -> None:
    request = ask()
    request.cancellation.cancel()

    with pytest.raises(ModelCancelled):
        collect(model, request)

    assert server.requests == []

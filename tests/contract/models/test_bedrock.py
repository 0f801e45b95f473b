"""What is particular about Converse: stop reasons, exceptions and frames, reasoning, tools, and caching."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from equerry.adapters.bedrock.model import BedrockWire
from equerry.adapters.bedrock.request import Guardrail, takes_marks
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.engine.messages import ToolCallBlock, ToolResultBlock
from equerry.engine.model import OpaqueState, RoundStop, ToolCallReady
from equerry.engine.thread import Thread
from equerry.kernel.identifiers import ToolCallId
from equerry.ports.model import ModelRejected, ModelUnavailable, ModelUnusable

from tests.contract.models.clock import ScriptedClock
from tests.contract.models.requests import ask, collect, end_of, text_of
from tests.contract.models.subjects import BEDROCK, PATIENT, create_bedrock_client
from tests.strict import bedrock_events as wire
from tests.strict import event_stream
from tests.strict.bedrock_server import ACCESS_KEY, MODEL, StrictBedrockServer, serve_bedrock

ANSWER = wire.message(wire.text("Widgets ", "are painted."))


@pytest.fixture
def server() -> Iterator[StrictBedrockServer]:
    with serve_bedrock() as running:
        yield running


@pytest.fixture
def model(server: StrictBedrockServer) -> Iterator[DrivenModelAdapter]:
    with BEDROCK.connect(server) as adapter:
        yield adapter


def called() -> Thread:
    call = ToolCallBlock(call_id=ToolCallId("c1"), tool="search_docs", arguments={"query": "a"})
    answered = ToolResultBlock(call_id=ToolCallId("c1"), content="Nothing.", ok=False)
    return Thread().say("How?").answer(call).resolve(answered)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end_turn"),
        ("stop_sequence", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("model_context_window_exceeded", "max_tokens"),
        ("guardrail_intervened", "filtered"),
        ("content_filtered", "filtered"),
        ("malformed_model_output", "malformed"),
        ("malformed_tool_use", "malformed"),
        ("tool_use", "malformed"),
        ("a_reason_of_tomorrow", "malformed"),
    ],
)
@pytest.mark.req("F-GATE-03")
def test_every_stop_reason_has_its_meaning(
    server: StrictBedrockServer, model: DrivenModelAdapter, reason: str, stop: RoundStop
) -> None:
    server.play(wire.message(wire.text("So."), stop=reason))

    assert end_of(collect(model, ask())).stop == stop


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("internalServerException", ModelUnavailable),
        ("modelStreamErrorException", ModelUnavailable),
        ("throttlingException", ModelUnavailable),
        ("serviceUnavailableException", ModelUnavailable),
        ("validationException", ModelRejected),
    ],
)
@pytest.mark.req("F-GATE-03")
def test_an_exception_inside_the_stream_is_told_by_its_kind(
    server: StrictBedrockServer, model: DrivenModelAdapter, kind: str, raised: type[Exception]
) -> None:
    server.play((*ANSWER[:2], wire.exception(kind)))

    with pytest.raises(raised):
        collect(model, ask(attempts=1))


@pytest.mark.parametrize(
    "broken",
    [
        event_stream.event("contentBlockStart", {"contentBlockIndex": 0, "start": {}}),
        event_stream.event("contentBlockDelta", {"contentBlockIndex": 0})[:-1] + b"\0",
        event_stream.frame({":message-type": "event", ":event-type": "messageStop"}, b"{oops"),
    ],
    ids=["empty union", "checksum", "no JSON"],
)
def test_a_frame_that_cannot_be_read_breaks_the_round_and_nothing_else(
    server: StrictBedrockServer, model: DrivenModelAdapter, broken: bytes
) -> None:
    server.play((ANSWER[0], wire.Raw(broken)))

    with pytest.raises(ModelUnavailable):
        collect(model, ask(attempts=1))


def test_a_stream_without_its_metadata_has_not_ended(
    server: StrictBedrockServer, model: DrivenModelAdapter
) -> None:
    server.play(ANSWER[:-1])

    with pytest.raises(ModelUnavailable, match="ended before"):
        collect(model, ask(attempts=1))


def test_thoughts_that_nobody_may_read_are_sent_back_byte_for_byte(
    server: StrictBedrockServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.message(wire.redacted("c2VjcmV0"), wire.tool('{"query": "a"}'), stop="tool_use"), ANSWER)
    request = ask()
    events = collect(model, request)
    blocks = [
        event.block if isinstance(event, OpaqueState) else event.call
        for event in events
        if isinstance(event, OpaqueState | ToolCallReady)
    ]
    results = ToolResultBlock(call_id=ToolCallId("tooluse_1"), content="Nothing.")

    collect(model, ask("", thread=request.thread.answer(*blocks).resolve(results)))

    sent = server.requests[1]["messages"][1]["content"][0]
    assert sent == {"reasoningContent": {"redactedContent": "c2VjcmV0"}}


def test_a_thought_that_was_cut_off_is_not_kept(
    server: StrictBedrockServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.message(wire.reasoning("Let me", signature=""), stop="max_tokens"))

    assert not [event for event in collect(model, ask()) if isinstance(event, OpaqueState)]


def test_tools_that_may_not_be_called_stay_listed_only_where_the_thread_needs_them(
    server: StrictBedrockServer, model: DrivenModelAdapter
) -> None:
    server.play(ANSWER, ANSWER)

    collect(model, ask(tools_allowed=False))
    collect(model, ask("", thread=called(), tools_allowed=False))

    without, with_calls = server.requests
    assert "toolConfig" not in without
    assert with_calls["toolConfig"]["toolChoice"] == {"auto": {}}
    assert "no tool" in with_calls["system"][-1]["text"]


def test_a_call_that_was_not_allowed_is_left_out_of_the_answer(
    server: StrictBedrockServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.message(wire.text("So."), wire.tool('{"query": "b"}'), stop="tool_use"))

    events = collect(model, ask("", thread=called(), tools_allowed=False))

    assert not [event for event in events if isinstance(event, ToolCallReady)]
    assert (text_of(events), end_of(events).stop) == ("So.", "end_turn")


def test_a_failed_tool_is_said_to_have_failed(server: StrictBedrockServer, model: DrivenModelAdapter) -> None:
    server.play(ANSWER)

    collect(model, ask("", thread=called()))

    assert server.requests[0]["messages"][-1]["content"][0]["toolResult"]["status"] == "error"


@pytest.mark.req("A-PROV-01")
def test_the_mark_is_a_block_of_its_own_behind_what_is_stable(
    server: StrictBedrockServer, model: DrivenModelAdapter
) -> None:
    server.play(ANSWER, ANSWER)
    stable = "You answer out of documents. " * 100

    collect(model, ask(stable=stable, dynamic="Today is Monday."))
    collect(model, ask(dynamic="Today is Monday."))

    long, short = server.requests
    assert long["system"] == [
        {"text": stable},
        {"cachePoint": {"type": "default"}},
        {"text": "Today is Monday."},
    ]
    assert "cachePoint" not in str(short)


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("eu.anthropic.claude-sonnet-5-v1:0", True),
        ("amazon.nova-pro-v1:0", True),
        ("anthropic.claude-3-haiku-20240307-v1:0", False),
        ("meta.llama3-70b-instruct-v1:0", False),
    ],
)
def test_models_that_know_no_marks_get_none(*, name: str, takes: bool) -> None:
    assert takes_marks(name) is takes


def test_a_guardrail_is_named_in_each_request(server: StrictBedrockServer) -> None:
    server.play(ANSWER)
    with closing(create_bedrock_client(server.url, ACCESS_KEY, PATIENT)) as client:
        wire_ = BedrockWire(client, model=MODEL, guardrail=Guardrail("gr-1", "2"))
        collect(DrivenModelAdapter(wire_, clock=ScriptedClock(), jitter=lambda: 0.0), ask())

    assert server.requests[0]["guardrailConfig"] == {"guardrailIdentifier": "gr-1", "guardrailVersion": "2"}


def test_without_credentials_the_model_is_unusable() -> None:
    from botocore.exceptions import NoCredentialsError

    class Unsigned:
        def converse_stream(self, **_: Any) -> Any:
            raise NoCredentialsError

    model = DrivenModelAdapter(
        BedrockWire(Unsigned(), model=MODEL), clock=ScriptedClock(), jitter=lambda: 0.0
    )

    with pytest.raises(ModelUnusable):
        collect(model, ask())


@pytest.mark.req("F-GATE-04")
def test_a_bug_of_ours_while_sending_is_not_taken_for_a_failure_of_the_provider() -> None:
    class Buggy:
        def converse_stream(self, **_: Any) -> Any:
            raise ZeroDivisionError("a bug")

    model = DrivenModelAdapter(BedrockWire(Buggy(), model=MODEL), clock=ScriptedClock(), jitter=lambda: 0.0)

    with pytest.raises(ZeroDivisionError):
        collect(model, ask())


@pytest.mark.req("A-BED-01", "A-BED-02")
def test_what_a_cancelled_round_left_side_by_side_is_merged_with_results_first(
    server: StrictBedrockServer, model: DrivenModelAdapter
) -> None:
    server.play(ANSWER)
    thread = called().say("Never mind. What about screws?")

    collect(model, ask("", thread=thread))

    roles = [message["role"] for message in server.requests[0]["messages"]]
    last = server.requests[0]["messages"][-1]["content"]
    assert roles == ["user", "assistant", "user"]
    assert [next(iter(block)) for block in last] == ["toolResult", "text"]
    assert server.violations == []

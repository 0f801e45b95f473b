"""What only the Gemini API does."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from equerry.adapters import google
from equerry.adapters.google.request import OWN_ID, UNSIGNED
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.adapters.rounds.retrying import RetryPolicy
from equerry.engine.messages import OpaqueBlock, TextBlock, ToolCallBlock, ToolResultBlock
from equerry.engine.model import (
    ArgumentsDelta,
    ModelEvent,
    OpaqueState,
    RoundStop,
    TextDelta,
    ToolCallReady,
    ToolSpec,
)
from equerry.engine.thread import Thread
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelRejected, ModelUnavailable, ModelUnusable
from equerry.runtime.clock import SystemClock

from tests.contract.models.requests import SEARCH, ask, collect, end_of, resolve, text_of
from tests.contract.models.subjects import GOOGLE
from tests.strict import google_events as wire
from tests.strict.google_server import KEY, StrictGoogleServer, serve_google
from tests.unit.engine.playing import ProbeTool, run

ANSWER = wire.answer(wire.text("Widgets ", "are painted."))


@pytest.fixture
def server() -> Iterator[StrictGoogleServer]:
    with serve_google() as running:
        yield running


@pytest.fixture
def model(server: StrictGoogleServer) -> Iterator[DrivenModelAdapter]:
    with GOOGLE.connect(server) as adapter:
        yield adapter


def calls(events: list[ModelEvent]) -> list[ToolCallBlock]:
    return [event.call for event in events if isinstance(event, ToolCallReady)]


def states(events: list[ModelEvent]) -> list[OpaqueBlock]:
    return [event.block for event in events if isinstance(event, OpaqueState)]


def parts_of(server: StrictGoogleServer, role: str) -> list[dict[str, Any]]:
    """The parts of the last request's messages of a role."""
    contents = server.requests[-1]["contents"]
    return [part for content in contents if content["role"] == role for part in content["parts"]]


@pytest.mark.req("A-GEM-01", "A-PROV-05")
def test_the_key_is_in_a_header_and_in_no_address(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    server.play(ANSWER)

    collect(model, ask())

    assert server.headers_seen[0]["x-goog-api-key"] == KEY
    assert server.paths == ["/v1beta/models/gemini-test-3:streamGenerateContent?alt=sse"]
    assert KEY not in server.paths[0]


@pytest.mark.req("A-GEM-04", "A-GEM-08")
def test_the_assistant_is_the_model_and_results_are_the_users_by_their_functions_name(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.answer(wire.call("search_docs"), wire.call("search_docs", {"query": "b"})), ANSWER)
    request = ask()

    collect(model, resolve(request, collect(model, request), "Nothing."))

    roles = [content["role"] for content in server.requests[1]["contents"]]
    assert roles == ["user", "model", "user"]
    answered = [part["functionResponse"] for part in parts_of(server, "user") if "functionResponse" in part]
    assert answered == [{"name": "search_docs", "response": {"output": "Nothing."}}] * 2


@pytest.mark.req("A-GEM-08")
def test_a_result_finds_its_functions_name_in_the_stored_call(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    server.play(ANSWER)
    first = ToolCallBlock(call_id=ToolCallId(f"{OWN_ID}1"), tool="first", arguments={})
    second = ToolCallBlock(call_id=ToolCallId("toolu_2"), tool="second", arguments={"a": 1})
    thread = (
        Thread()
        .say("Hello")
        .answer(first, second)
        .resolve(
            ToolResultBlock(call_id=first.call_id, content="One."),
            ToolResultBlock(call_id=second.call_id, content="No.", ok=False),
        )
    )

    server.sent.bare.add(json.dumps(["first", {}]))
    collect(model, ask("", thread=thread))

    assert server.violations == []
    answered = [part["functionResponse"] for part in parts_of(server, "user") if "functionResponse" in part]
    assert answered == [
        {"name": "first", "response": {"output": "One."}},
        {"name": "second", "response": {"error": "No."}, "id": "toolu_2"},
    ]


def test_an_id_is_kept_where_there_is_one_and_made_where_there_is_none(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.answer(wire.call(call_id="fc-1", signature="s"), wire.call(args={"query": "b"})), ANSWER)
    request = ask()

    events = collect(model, request)
    collect(model, resolve(request, events, "Nothing."))

    given, made = (call.call_id for call in calls(events))
    assert given == "fc-1"
    assert made.startswith(OWN_ID)
    called = [part["functionCall"] for part in parts_of(server, "model")]
    assert [call.get("id") for call in called] == ["fc-1", None]
    assert server.violations == []


@pytest.mark.req("A-GEM-10")
def test_a_signature_goes_back_on_exactly_its_part(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    first = wire.call(args={"query": "a"}, signature="sig-a")
    second = wire.call(args={"query": "b"})
    third = wire.call(args={"query": "c"}, signature="sig-c")
    server.play(wire.answer(wire.thought(), first, second, third), ANSWER)
    request = ask()

    events = collect(model, request)
    collect(model, resolve(request, events, "Nothing."))

    signed = [part.get("thoughtSignature") for part in parts_of(server, "model")]
    assert signed == ["sig-a", None, "sig-c"]
    assert len(states(events)) == 2
    assert server.violations == []


@pytest.mark.req("A-GEM-10", "A-GEM-11")
def test_signatures_pass_through_the_run_loop_unread(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    said = wire.text("Let me ", "look.", signature="sig-text")
    server.play(wire.answer(said, wire.call(SEARCH.name, signature="sig-call")), ANSWER)

    outcome, _ = run(model.stream, ProbeTool(SEARCH.name), clock=SystemClock())

    assert (outcome.stop, outcome.text) == ("end_turn", "Let me look.\n\nWidgets are painted.")
    assert parts_of(server, "model")[:2] == [
        {"text": "Let me "},
        {"text": "look.", "thoughtSignature": "sig-text"},
    ]
    assert parts_of(server, "model")[2]["thoughtSignature"] == "sig-call"
    assert server.violations == []


def test_a_signature_of_words_that_were_changed_since_is_left_out(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    server.play(ANSWER)
    state = OpaqueBlock(provider="google", payload='{"thoughtSignature": "s", "text": "old words"}')
    thread = Thread().say("Hello").answer(TextBlock("New words."), state).say("And?")

    collect(model, ask(thread=thread))

    assert parts_of(server, "model") == [{"text": "New words."}]


def test_a_call_that_another_providers_model_made_says_that_it_has_no_signature(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    server.play(ANSWER)
    call = ToolCallBlock(call_id=ToolCallId("toolu_1"), tool=SEARCH.name, arguments={"query": "x"})
    foreign = OpaqueBlock(provider="anthropic", payload="{}")
    result = ToolResultBlock(call_id=call.call_id, content="Nothing.")

    collect(model, ask("", thread=Thread().say("Hello").answer(foreign, call).resolve(result)))

    assert parts_of(server, "model")[0]["thoughtSignature"] == UNSIGNED
    assert server.violations == []


STOPS: list[tuple[str, RoundStop]] = [
    ("STOP", "end_turn"),
    ("MAX_TOKENS", "max_tokens"),
    ("SAFETY", "filtered"),
    ("RECITATION", "filtered"),
    ("BLOCKLIST", "filtered"),
    ("PROHIBITED_CONTENT", "filtered"),
    ("SPII", "filtered"),
    ("MALFORMED_FUNCTION_CALL", "malformed"),
    ("UNEXPECTED_TOOL_CALL", "malformed"),
    ("MISSING_THOUGHT_SIGNATURE", "malformed"),
    ("OTHER", "malformed"),
    ("A_REASON_OF_TOMORROW", "malformed"),
]


@pytest.mark.parametrize(("reason", "stop"), STOPS)
@pytest.mark.req("F-GATE-03")
def test_every_reason_to_finish_has_its_meaning(
    server: StrictGoogleServer, model: DrivenModelAdapter, reason: str, stop: RoundStop
) -> None:
    server.play(wire.answer(wire.text("So."), finish=reason))

    assert end_of(collect(model, ask())).stop == stop


@pytest.mark.parametrize(("reason", "stop"), STOPS[1:])
@pytest.mark.req("A-GEM-09")
def test_a_call_is_handed_over_only_where_the_model_finished_by_itself(
    server: StrictGoogleServer, model: DrivenModelAdapter, reason: str, stop: RoundStop
) -> None:
    server.play(wire.together(wire.text("So."), wire.call(signature="s"), finish=reason))

    events = collect(model, ask())

    assert (calls(events), end_of(events).stop) == ([], stop)


def test_calls_come_with_the_reason_of_an_answer(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.together(wire.text("So."), wire.call()))

    events = collect(model, ask())

    assert end_of(events).stop == "tool_use"
    assert [call.arguments for call in calls(events)] == [{"query": "widgets"}]


def test_a_prompt_that_is_blocked_is_filtered(server: StrictGoogleServer, model: DrivenModelAdapter) -> None:
    server.play(wire.blocked())

    end = end_of(collect(model, ask()))

    assert (end.stop, end.usage.input_tokens) == ("filtered", 9)


def test_thoughts_cost_output_and_cached_tokens_are_input(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    server.play(ANSWER)

    assert end_of(collect(model, ask())).usage == Usage(
        input_tokens=331, output_tokens=42, cached_input_tokens=300, reasoning_tokens=7
    )


@pytest.mark.req("A-GEM-05", "A-SCRQ-13")
def test_a_forced_tool_is_asked_for_as_json_and_comes_back_as_its_call(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    server.play(wire.answer(wire.text('{"query": "wid', 'gets"}')), ANSWER)

    forced = collect(model, ask(forced_tool=SEARCH.name))
    free = collect(model, ask())

    assert [(call.tool, call.arguments) for call in calls(forced)] == [(SEARCH.name, {"query": "widgets"})]
    assert [event.text for event in forced if isinstance(event, ArgumentsDelta)] == [
        '{"query": "wid',
        'gets"}',
    ]
    assert not [event for event in forced if isinstance(event, TextDelta)]
    assert end_of(forced).stop == "tool_use"
    asked, declared = server.requests
    assert asked["generationConfig"]["responseJsonSchema"] == SEARCH.input_schema
    assert "tools" not in asked
    (function,) = declared["tools"][0]["functionDeclarations"]
    assert function["parametersJsonSchema"] == SEARCH.input_schema
    assert text_of(free) == "Widgets are painted."


@pytest.mark.parametrize(
    ("text", "finish", "stop", "handed"),
    [
        ('{"query": "wid', "MAX_TOKENS", "max_tokens", False),
        ('{"query": "widgets"}', "MAX_TOKENS", "max_tokens", False),
        ('{"query": "widgets"}', "SAFETY", "filtered", False),
        (" ", "STOP", "malformed", False),
        ("Here you are.", "STOP", "tool_use", True),
        ("[1]", "STOP", "tool_use", True),
    ],
)
@pytest.mark.req("A-GEM-09")
def test_half_of_a_forced_answer_is_no_call(
    server: StrictGoogleServer, model: DrivenModelAdapter, text: str, finish: str, stop: str, handed: bool
) -> None:
    server.play(wire.answer(wire.text(text), finish=finish))

    events = collect(model, ask(forced_tool=SEARCH.name))

    assert end_of(events).stop == stop
    assert [call.problem is not None for call in calls(events)] == ([True] if handed else [])


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.req("A-GEM-07")
def test_a_schema_above_64_kb_is_refused_and_nothing_is_sent(
    server: StrictGoogleServer, model: DrivenModelAdapter, forced: bool
) -> None:
    words = {"type": "string", "enum": ["ä" * 33_000]}
    large = ToolSpec(
        name="emit", description="x", input_schema={"type": "object", "properties": {"a": words}}
    )

    with pytest.raises(ModelRejected, match="65536"):
        collect(model, ask(tools=(large,), forced_tool="emit" if forced else None))

    assert server.headers_seen == []


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@pytest.mark.req("A-GEM-12")
def test_what_may_pass_is_tried_four_times_at_most(server: StrictGoogleServer, status: int) -> None:
    server.play(*[wire.Failure(status, "UNAVAILABLE")] * 9)

    with (
        GOOGLE.connect(server, retries=RetryPolicy(first_wait_s=0.01, least_useful_s=0)) as model,
        pytest.raises(ModelUnavailable),
    ):
        collect(model, ask())

    assert len(server.requests) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 501])
@pytest.mark.req("A-GEM-14")
def test_what_will_not_pass_is_tried_once(
    server: StrictGoogleServer, model: DrivenModelAdapter, status: int
) -> None:
    server.play(*[wire.Failure(status, "WHATEVER")] * 9)

    with pytest.raises(ModelRejected):
        collect(model, ask())

    assert len(server.requests) == 1


@pytest.mark.req("A-GEM-13")
def test_the_wish_for_a_pause_is_read_from_the_errors_details_too(server: StrictGoogleServer) -> None:
    server.play(wire.Failure(429, "RESOURCE_EXHAUSTED:34.5s"))

    with GOOGLE.connect(server) as model, pytest.raises(ModelUnavailable) as caught:
        collect(model, ask(deadline_s=10))

    assert (caught.value.cause, caught.value.retry_after_s) == ("throttled", 34)


def test_a_wrong_key_is_no_wrong_request(server: StrictGoogleServer) -> None:
    with GOOGLE.connect(server, key="wrong") as model, pytest.raises(ModelUnusable):
        collect(model, ask())


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"[]", b'{"error": "no"}'])
def test_an_error_that_is_not_theirs_is_read_by_its_status(server: StrictGoogleServer, body: bytes) -> None:
    server.describe = lambda *_: body.decode()  # type: ignore[assignment, method-assign]  # what a proxy answers
    server.play(wire.Failure(502, "x"))

    with GOOGLE.connect(server) as model, pytest.raises(ModelUnavailable):
        collect(model, ask(attempts=1))


def test_reasoning_is_a_level_for_new_models_and_a_budget_for_older_ones(
    server: StrictGoogleServer, model: DrivenModelAdapter
) -> None:
    from equerry.adapters.google.request import encode_request

    server.play(ANSWER)
    collect(model, ask(reasoning="low"))
    older = encode_request(ask(reasoning="low"), model="gemini-2.5-flash")

    assert server.requests[0]["generationConfig"]["thinkingConfig"] == {
        "includeThoughts": True,
        "thinkingLevel": "LOW",
    }
    assert older["generationConfig"]["thinkingConfig"] == {"includeThoughts": True, "thinkingBudget": 1024}


@pytest.mark.req("A-GEM-11")
def test_nothing_else_in_the_source_knows_of_signatures() -> None:
    layer = Path(google.__file__).parents[2]

    knowing = {
        path.parent.name
        for path in layer.rglob("*.py")
        if re.search(r"(?i)thought.?signature", path.read_text())
    }

    assert knowing == {"google"}

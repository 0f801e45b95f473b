"""Structured completions as an invoker sees them."""

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from equerry.adapters.aws.parameters import ParameterReader
from equerry.adapters.fixture.script import Pause, ScriptedRound, call, fail, say
from equerry.domain.switches import ModelSwitchedOff
from equerry.engine.model import ModelChoice, Restarted, RoundEnd, ToolCallReady
from equerry.ports.model import InputUnsupported, ModelRejected, ModelUnavailable
from equerry.runtime.completion import CompletionApp, build_completion_app
from equerry.runtime.completion_parts import CompletionParts, build_parts
from equerry.services.completion import CompletionService
from equerry.surfaces.completion import StructuredCompletionRequestError

from tests.completions import (
    ANSWER,
    REQUEST_ID,
    SCHEMA,
    USAGE,
    Bench,
    Context,
    capture_log,
    document,
    emit,
    emit_twice,
    image,
    payload,
)
from tests.contract.models.clock import ScriptedClock
from tests.scripted_ssm import ScriptedSsm

WORDS = "the merger is on Friday"


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    with capture_log() as stream:
        yield stream


def invoke(event: object, *rounds: ScriptedRound, **bench: Any) -> dict[str, Any]:
    return CompletionApp(Bench(*rounds, **bench).parts)(event, Context())


def told(event: object, *rounds: ScriptedRound, **bench: Any) -> str:
    """Return an invocation's errorMessage."""
    with pytest.raises(StructuredCompletionRequestError) as caught:
        invoke(event, *rounds, **bench)
    return str(caught.value)


@pytest.mark.req("A-SCRS-01", "A-SCRS-02", "A-SCRS-03", "A-SCRQ-03", "A-SCRQ-13")
def test_a_request_is_answered_with_one_object_and_what_it_cost() -> None:
    answer = invoke(payload(), ScriptedRound((Pause(1.5), *emit().steps)))

    assert answer == {
        "protocolVersion": 1,
        "requestId": REQUEST_ID,
        "output": ANSWER,
        "provider": "fixture",
        "model": "fixture-1",
        "durationMs": 1500,
        "usage": {"inputTokens": 40, "outputTokens": 9, "cacheReadTokens": 30},
    }


@pytest.mark.req("A-SCRQ-13", "A-SCMP-02", "A-SCOP-09")
def test_one_forced_tool_is_all_that_the_model_gets() -> None:
    bench = Bench()

    CompletionApp(bench.parts)(payload(), Context())

    (request,) = bench.model.requests
    (tool,) = request.tools
    assert (tool.name, request.forced_tool, tool.input_schema) == ("emit", "emit", SCHEMA)
    assert "Weather" in tool.description
    assert request.prompt.stable == "You know the weather."
    assert (request.max_output_tokens, request.reasoning) == (8000, None)


@pytest.mark.req("A-SCRS-12")
@pytest.mark.parametrize(("longest_s", "given_s"), [(280.0, 57.0), (40.0, 40.0)])
def test_the_deadline_is_the_configured_one_and_within_lambdas(longest_s: float, given_s: float) -> None:
    bench = Bench(longest_s=longest_s)

    CompletionApp(bench.parts)(payload(), Context())

    assert bench.model.requests[0].deadline_s == given_s


def test_a_schema_without_a_type_at_its_root_is_one_of_objects() -> None:
    bench = Bench(emit({"anything": [1, {"goes": None}]}))

    CompletionApp(bench.parts)(payload(jsonSchema={}), Context())

    assert bench.model.requests[0].tools[0].input_schema == {"type": "object"}


@pytest.mark.req("A-SCRS-13", "A-SCRS-08", "A-SCRQ-01")
def test_a_malformed_request_never_reaches_a_model() -> None:
    bench = Bench()

    with pytest.raises(StructuredCompletionRequestError) as caught:
        CompletionApp(bench.parts)(payload(prompt=" "), Context())

    assert str(caught.value) == "[400 invalid_request] prompt must not be blank"
    assert type(caught.value).__name__ == "StructuredCompletionRequestError"
    assert bench.model.requests == []


@pytest.mark.req("A-SCRQ-08", "A-SCRS-15")
@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"properties": 3}, "#/properties is no JSON Schema 2020-12"),
        ({"properties": {"a": {"type": "text"}}}, "#/properties/a/type is no JSON Schema 2020-12"),
        ({"properties": {"a": {"pattern": "("}}}, "#/properties/a: a pattern that cannot be read"),
        ({"properties": {"a": {"$ref": "#/$defs/absent"}}}, "#/properties/a: .ref must lead"),
        ({"$ref": "https://169.254.169.254/latest"}, "#: .ref must lead"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "#/properties/a: .ref must lead"),
        ({"properties": {"a": {"pattern": "(a+)\\1"}}}, "#/properties/a: a pattern that cannot be read"),
    ],
)
def test_a_schema_that_is_none_is_refused_before_any_call(schema: dict[str, Any], says: str) -> None:
    bench = Bench()

    with pytest.raises(
        StructuredCompletionRequestError, match=rf"^\[400 invalid_request\] jsonSchema: {says}"
    ):
        CompletionApp(bench.parts)(payload(jsonSchema=schema), Context())

    assert bench.model.requests == []


def test_a_schema_may_refer_to_itself() -> None:
    schema = {
        "type": "object",
        "properties": {"child": {"$ref": "#"}, "name": {"$ref": "#/$defs/name"}},
        "$defs": {"name": {"type": "string"}},
    }
    answer = {"name": "a", "child": {"name": "b"}}

    assert invoke(payload(jsonSchema=schema), emit(answer))["output"] == answer
    assert "#/properties/child" in told(payload(jsonSchema=schema), emit({"child": {"name": 3}}))


@pytest.mark.req("A-SCRS-03", "A-SCRS-06", "A-SCRS-09", "A-SCRS-10", "A-SCRS-11")
@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (say(WORDS), "the model gave 0 answers"),
        (emit_twice(), "the model gave 2 answers"),
        (call("search", query=WORDS), "the model gave 1 answers"),
        (emit(stop="max_tokens"), "the answer was cut off"),
        (emit(stop="refusal"), "the model declined"),
        (emit(stop="filtered"), "a filter of the model's provider"),
        (emit(stop="malformed"), "the model's provider calls its answer unusable"),
        (emit({"city": 3}), "does not fit jsonSchema: breaks #/properties/city/type"),
        (emit({}), "does not fit jsonSchema: breaks #/required"),
        (emit({"city": WORDS, WORDS: 1}), "does not fit jsonSchema: breaks #/additionalProperties"),
        (emit({"city": "é" * (5 * 512 * 1024)}), "bytes and may have 5242880"),
        (emit({"city": float("nan")}), "cannot be judged as JSON"),
        (fail(ModelUnavailable("busy")), "model_unavailable: busy"),
        (fail(ModelRejected("no")), "model_rejected: no"),
    ],
)
def test_what_is_no_answer_is_told_and_never_repaired(reply: ScriptedRound, says: str) -> None:
    message = told(payload(prompt=WORDS), reply)

    assert message.startswith("[502 completion_failed] ")
    assert says in message
    assert WORDS not in message


@pytest.mark.req("A-SCRS-12")
def test_a_late_model_is_told_from_a_failing_one() -> None:
    late = ScriptedRound((Pause(58.0), *emit().steps))

    assert told(payload(), late) == "[504 deadline_exceeded] the model did not finish before the deadline"
    slow = fail(ModelUnavailable("the connection was lost", cause="timeout"), Pause(58.0))
    assert told(payload(), slow).startswith("[504 deadline_exceeded]")
    assert told(payload(), fail(ModelUnavailable("lost"), Pause(3.0))).startswith("[502 completion_failed]")


@pytest.mark.req("A-SCRS-20", "A-SCRS-23", "A-SCIM-07", "A-SCDO-12")
def test_what_the_provider_does_not_read_is_refused_before_any_call() -> None:
    for provider, given, code in (
        ("codex", {"images": [image()]}, "image_input_unsupported"),
        ("bedrock", {"documents": [document()]}, "documents_unsupported"),
        ("fixture", {"documents": [document()]}, "documents_unsupported"),
    ):
        bench = Bench(provider=provider)
        with pytest.raises(StructuredCompletionRequestError, match=rf"^\[422 {code}\]"):
            CompletionApp(bench.parts)(payload(**given), Context())
        assert bench.model.requests == []
    late = fail(InputUnsupported("no", kind="documents"))
    assert told(payload(documents=[document()]), late, provider="anthropic").startswith(
        "[422 documents_unsupported]"
    )


@pytest.mark.req("A-SCRS-07", "A-SCOP-01")
def test_a_switch_that_is_off_refuses_before_any_call() -> None:
    bench = Bench()
    bench.switch.set("false")

    with pytest.raises(StructuredCompletionRequestError, match=r"^\[503 disabled\]"):
        CompletionApp(bench.parts)(payload(), Context())

    assert bench.model.requests == []
    assert told(payload(), fail(ModelSwitchedOff())).startswith("[503 disabled]")


@pytest.mark.req("A-SCMP-10")
def test_who_really_ran_is_named_and_what_was_said_before_a_restart_is_forgotten() -> None:
    another = ModelChoice(provider="bedrock", model="nova-1")
    first, second = emit({"city": "half"}).steps[0], emit().steps[0]
    assert isinstance(first, ToolCallReady)
    assert isinstance(second, ToolCallReady)

    answer = invoke(
        payload(),
        ScriptedRound(
            (
                first,
                Restarted(model=another, reason="broke off"),
                second,
                RoundEnd(stop="tool_use", usage=USAGE, model=another),
            )
        ),
    )

    assert (answer["provider"], answer["model"], answer["output"]) == ("bedrock", "nova-1", ANSWER)


@pytest.mark.req("A-SCRS-04", "A-SCRQ-03", "A-SCRQ-05", "A-SCDO-11")
def test_a_success_is_one_line_of_the_log(logged: io.StringIO) -> None:
    organisation = "11111111-2222-3333-4444-555555555555"
    event = payload(prompt=WORDS, organisationId=organisation, documents=[document(), document()])

    invoke(event, provider="anthropic")

    (line,) = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert line["message"] == "structured_completion"
    assert {name: line[name] for name in ("requestId", "workload", "organisationId", "documentCount")} == {
        "requestId": REQUEST_ID,
        "workload": "weather:daily",
        "organisationId": organisation,
        "documentCount": 2,
    }
    assert (line["provider"], line["model"], line["durationMs"]) == ("anthropic", "anthropic-1", 0)
    assert line["usage"] == {"inputTokens": 40, "outputTokens": 9, "cacheReadTokens": 30}


def test_a_refusal_is_logged_by_its_code(logged: io.StringIO) -> None:
    told(payload(), emit({"city": 3}))
    told({"prompt": WORDS})

    second, first = [json.loads(line) for line in logged.getvalue().splitlines()][::-1]
    assert (first["message"], first["status"], first["code"], first["requestId"]) == (
        *("structured_completion_refused", 502, "completion_failed", REQUEST_ID),
    )
    assert (second["status"], "requestId" in second) == (400, False)


def test_a_bug_of_ours_is_told_by_where_it_happened_and_not_by_its_words(logged: io.StringIO) -> None:
    bench = Bench()

    def broken(_request: object) -> Any:
        raise ZeroDivisionError(WORDS)

    service = CompletionService(
        choose=broken, switch=bench.switch, clock=bench.clock, max_output_tokens=1, longest_s=1
    )
    with pytest.raises(StructuredCompletionRequestError) as caught:
        CompletionApp(CompletionParts(service=service, hosts=frozenset()))(payload(), Context())

    assert str(caught.value) == "[502 completion_failed] something went wrong on our side"
    line = json.loads(logged.getvalue())
    assert (line["message"], line["failure"]) == ("structured_completion_failed", "ZeroDivisionError")
    assert any("test_completion.py" in frame for frame in line["frames"])
    assert WORDS not in logged.getvalue()


def test_the_extractive_responder_cannot_complete_and_says_what_to_configure() -> None:
    completion = build_completion_app({"EQUERRY_STAGE": "test", "MODEL_PROVIDER": "extractive"})

    with pytest.raises(StructuredCompletionRequestError, match=r"^\[502 completion_failed\] .*\[model\]"):
        completion(payload(), Context())


def switched(clock: ScriptedClock, ssm: ScriptedSsm, environ: Mapping[str, str]) -> CompletionApp:
    named = {
        "EQUERRY_STAGE": "test",
        "MODEL_PROVIDER": "fixture",
        "STRUCTURED_COMPLETIONS_ENABLED_SSM_PARAMETER": "/c",
    }
    reader = ParameterReader(ssm, clock)  # type: ignore[arg-type]  # a stand-in
    return CompletionApp(build_parts({**named, **environ}, clock, reader, warm=False))


@pytest.mark.req("F-INC-01")
@pytest.mark.parametrize(("off", "ends"), [("fixture", "503 disabled"), ("anthropic", "502")])
def test_a_model_that_an_operator_turned_off_completes_nothing(off: str, ends: str) -> None:
    held = ScriptedSsm(**{"/equerry/test/off/model": off})
    completion = switched(ScriptedClock(), held, {"ASSISTANT_OFF_SSM_PREFIX": "/equerry/test/off"})

    with pytest.raises(StructuredCompletionRequestError, match=ends):
        completion(payload(), Context())


def is_on(app: CompletionApp) -> bool:
    """The fixture model knows no tools: asked at all, it ends in 502."""
    with pytest.raises(StructuredCompletionRequestError) as caught:
        app(payload(), Context())
    return "[503 disabled]" not in str(caught.value)


@pytest.mark.req("A-SCOP-02", "A-SCOP-03")
@pytest.mark.parametrize(
    ("environ", "held", "on"),
    [
        ({}, {}, True),
        ({}, {"/c": "true"}, True),
        ({}, {"/c": "false"}, False),
        ({}, {"/c": "perhaps"}, True),
        ({"STRUCTURED_COMPLETIONS_ENABLED": "true"}, {"/c": "false"}, True),
        ({"STRUCTURED_COMPLETIONS_ENABLED": "false"}, {"/c": "true"}, False),
        ({"ASSISTANT_ENABLED": "false", "ASSISTANT_ENABLED_SSM_PARAMETER": "/a"}, {"/a": "false"}, True),
    ],
)
def test_the_environment_goes_before_the_parameter_and_silence_is_on(
    environ: dict[str, str], held: dict[str, str], on: bool
) -> None:
    assert is_on(switched(ScriptedClock(), ScriptedSsm(**held), environ)) is on


@pytest.mark.req("A-SCOP-04", "A-SCOP-03")
def test_once_off_it_stays_off_until_a_read_says_otherwise() -> None:
    clock, ssm = ScriptedClock(), ScriptedSsm(**{"/c": "false"})
    app = switched(clock, ssm, {})
    seen = []
    for out, text in ((False, "false"), (True, "true"), (False, "perhaps"), (False, "true"), (True, "false")):
        clock.sleep(31)
        ssm.out, ssm.values = out, {"/c": text}
        seen.append(is_on(app))

    assert seen == [False, False, False, True, True]

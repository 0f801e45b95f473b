"""Structured completions as an invoker sees them."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import Script, fail, replay, say
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelRejected, ModelUnavailable
from equerry.runtime.completion import CompletionApp, build_completion_app
from equerry.runtime.observability import logger
from equerry.runtime.parameters import open_parameters
from equerry.services.completion import CompletionService
from equerry.surfaces.completion import StructuredCompletionRequestError

from tests.contract.aws_backends import start_aws
from tests.contract.models.clock import ScriptedClock

WORDS = "the merger is on Friday"


class Context:
    """Lambda's, as far as it is used."""

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What goes to the log, as it is written."""
    stream = io.StringIO()
    handler = logger.registered_handler
    assert isinstance(handler, logging.StreamHandler)
    before = handler.setStream(stream)
    yield stream
    handler.setStream(before)


def app(script: Script) -> tuple[CompletionApp, FixtureModelAdapter]:
    clock = ScriptedClock()
    model = FixtureModelAdapter(clock, script=script)
    return CompletionApp(CompletionService(model), clock), model


def invoke(event: object, *rounds: Any) -> dict[str, Any]:
    return app(replay(rounds or (say("Fine."),)))[0](event, Context())


def test_an_input_is_completed_with_what_it_cost() -> None:
    answer = invoke({"input": "Say it."}, say("It ", "is.", usage=Usage(input_tokens=9, output_tokens=2)))

    assert answer == {
        "text": "It is.",
        "stopReason": "end_turn",
        "usage": {
            "inputTokens": 9,
            "outputTokens": 2,
            "cachedInputTokens": 0,
            "cacheWriteTokens": 0,
            "reasoningTokens": 0,
        },
        "model": {"provider": "fixture", "model": "script-1"},
    }


def test_instructions_allowance_and_deadline_reach_the_model() -> None:
    completion, model = app(replay([say("Fine.")]))

    completion({"input": "Say it.", "instructions": "Be brief.", "maxTokens": 7}, Context())

    (request,) = model.requests
    assert request.prompt.stable == "Be brief."
    assert (request.thread.messages[0].text, request.max_output_tokens) == ("Say it.", 7)
    assert request.deadline_s == 57.0
    assert request.tools == ()


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "malformed"])
def test_an_answer_that_is_not_whole_says_why(stop: Any) -> None:
    assert invoke({"input": "x"}, say("Half", stop=stop))["stopReason"] == stop


@pytest.mark.req("A-SCRS-13")
@pytest.mark.parametrize(
    ("event", "message"),
    [
        (None, "[400 invalid_request] the payload must be a JSON object with the field 'input'"),
        ([WORDS], "[400 invalid_request] the payload must be a JSON object with the field 'input'"),
        ({}, "[400 invalid_request] input must be a string"),
        ({"input": 3}, "[400 invalid_request] input must be a string"),
        ({"input": " "}, "[400 invalid_request] input must not be blank"),
        ({"input": WORDS, "instructions": 3}, "[400 invalid_request] instructions must be a string"),
        (
            {"input": WORDS, "maxTokens": 0},
            "[400 invalid_request] maxTokens must be a whole number from 1 to 16384",
        ),
        (
            {"input": WORDS, "maxTokens": True},
            "[400 invalid_request] maxTokens must be a whole number from 1 to 16384",
        ),
        (
            {"input": WORDS, "stream": True},
            "[400 invalid_request] unknown field 'stream'; allowed are input, instructions, maxTokens",
        ),
        (
            {"input": "x" * 400_001},
            "[413 too_large] input must have at most 400000 characters, got 400001",
        ),
    ],
)
def test_a_malformed_payload_is_refused_without_repeating_it(event: object, message: str) -> None:
    with pytest.raises(StructuredCompletionRequestError) as caught:
        invoke(event)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("failure", "start"),
    [(ModelUnavailable("busy"), "[503 model_unavailable]"), (ModelRejected("no"), "[502 model_rejected]")],
)
def test_a_failing_provider_is_told_apart_from_a_refusing_one(failure: Any, start: str) -> None:
    with pytest.raises(StructuredCompletionRequestError, match=start.replace("[", r"\[")):
        invoke({"input": WORDS}, fail(failure))


def test_the_extractive_responder_cannot_complete_and_says_what_to_configure() -> None:
    completion = build_completion_app({"EQUERRY_STAGE": "test", "MODEL_PROVIDER": "extractive"})

    with pytest.raises(
        StructuredCompletionRequestError, match=r"^\[503 model_not_configured\] .*MODEL_PROVIDER"
    ):
        completion({"input": WORDS}, Context())


@pytest.mark.req("F-INC-01")
@pytest.mark.parametrize(("off", "ends"), [("fixture", "503 model_switched_off"), ("anthropic", "")])
def test_a_model_that_an_operator_turned_off_completes_nothing(off: str, ends: str) -> None:
    environment = {
        "EQUERRY_STAGE": "test",
        "MODEL_PROVIDER": "fixture",
        "ASSISTANT_OFF_SSM_PREFIX": "/equerry/test/off",
    }
    open_parameters.cache_clear()
    with start_aws("moto") as clients:
        clients.ssm.put_parameter(Name="/equerry/test/off/model", Value=off, Type="String")
        completion = build_completion_app(environment)
        open_parameters.cache_clear()
        if not ends:
            assert completion({"input": WORDS}, Context())["text"]
            return
        with pytest.raises(StructuredCompletionRequestError, match=ends):
            completion({"input": WORDS}, Context())


def test_a_bug_of_ours_passes_through() -> None:
    def broken(_request: object) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        app(broken)[0]({"input": WORDS}, Context())


@pytest.mark.req("A-SCRS-05")
def test_neither_what_was_asked_nor_what_was_answered_is_logged(logged: io.StringIO) -> None:
    completion = build_completion_app({"EQUERRY_STAGE": "test", "MODEL_PROVIDER": "fixture"})

    answer = completion({"input": WORDS, "instructions": "Keep it secret."}, Context())
    with pytest.raises(StructuredCompletionRequestError):
        completion({"input": WORDS, "maxTokens": WORDS}, Context())

    (line,) = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert line["message"] == "structured_completion"
    assert line["gen_ai.provider.name"] == "fixture"
    assert line["gen_ai.response.finish_reasons"] == ["end_turn"]
    assert WORDS in answer["text"]
    assert "merger" not in logged.getvalue()
    assert "secret" not in logged.getvalue()

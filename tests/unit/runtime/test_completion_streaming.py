"""A streamed completion, frame by frame, without a network."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from equerry.adapters.fixture.script import Pause, ScriptedRound, fail, say
from equerry.engine.model import ArgumentsDelta, StillWorking, ThinkingDelta
from equerry.ports.model import ModelRejected, ModelUnavailable
from equerry.runtime.completion import CompletionApp
from equerry.runtime.completion_parts import CompletionParts
from equerry.runtime.completion_streaming import StreamingCompletionApp
from equerry.surfaces.completion import StructuredCompletionRequestError

from tests.completions import (
    REQUEST_ID,
    Bench,
    Context,
    capture_log,
    document,
    emit,
    emit_twice,
    image,
    payload,
)
from tests.contract.models.subjects import RealClock

Build = Callable[[], CompletionParts]


def stream(event: object, *rounds: ScriptedRound, **bench: Any) -> list[dict[str, Any]]:
    held = Bench(*rounds, **bench)
    return play(held, event)


def play(held: Bench, event: object, left_ms: int = 60_000) -> list[dict[str, Any]]:
    app = StreamingCompletionApp(lambda: held.parts, held.clock)
    with capture_log():
        return [json.loads(line) for line in app(event, Context(left_ms))]


@pytest.mark.req("A-SCST-02", "A-SCST-06", "A-SCST-08", "A-SCST-10", "A-SCST-12")
def test_a_success_starts_shows_what_comes_and_ends_with_what_the_other_function_would_answer() -> None:
    shown = (ThinkingDelta("Hm."), ArgumentsDelta('{"city":'), StillWorking())

    start, thinking, output, result = stream(payload(), ScriptedRound((*shown, *emit().steps)))

    assert start == {"type": "start", "requestId": REQUEST_ID, "provider": "fixture", "model": "fixture-1"}
    assert thinking == {"type": "thinking", "text": "Hm."}
    assert output == {"type": "output", "text": '{"city":'}
    with capture_log():
        waited = CompletionApp(Bench().parts)(payload(), Context())
    assert result == {"type": "result", **waited}


@pytest.mark.req("A-SCST-06")
def test_the_start_leaves_before_the_model_is_asked() -> None:
    held = Bench()
    frames = StreamingCompletionApp(lambda: held.parts, held.clock)(payload(), Context())

    assert json.loads(next(frames))["type"] == "start"
    assert held.model.requests == []
    with capture_log():
        rest = list(frames)
    assert len(held.model.requests) == len(rest) == 1


@pytest.mark.req("A-SCST-11", "A-SCST-15", "A-SCST-17", "A-SCST-20", "A-SCST-18")
@pytest.mark.parametrize(
    ("event", "reply", "bench"),
    [
        (payload(prompt=""), emit(), {}),
        (payload(images=[image()] * 9), emit(), {}),
        (payload(images=[image(mediaType="image/gif")]), emit(), {}),
        (payload(images=[image()]), emit(), {"provider": "codex"}),
        (payload(documents=[document()] * 21), emit(), {}),
        (payload(documents=[document("http://x")]), emit(), {}),
        (payload(documents=[document()]), emit(), {}),
        (payload(jsonSchema={"type": "object", "required": 3}), emit(), {}),
        (payload(), emit({"city": 3}), {}),
        (payload(), emit_twice(), {}),
        (payload(), say("no"), {}),
        (payload(), emit(stop="max_tokens"), {}),
        (payload(), fail(ModelUnavailable("busy"), ArgumentsDelta("{")), {}),
        (payload(), fail(ModelRejected("no")), {}),
        (payload(), ScriptedRound((Pause(61), *emit().steps)), {}),
        (None, emit(), {}),
    ],
)
def test_a_failure_is_the_last_frame_with_the_other_functions_status_and_code(
    event: object, reply: ScriptedRound, bench: Any
) -> None:
    last = stream(event, reply, **bench)[-1]
    with capture_log(), pytest.raises(StructuredCompletionRequestError) as waited:
        CompletionApp(Bench(reply, **bench).parts)(event, Context())

    assert last["type"] == "error"
    assert f"[{last['status']} {last['code']}] {last['detail']}" == str(waited.value)


@pytest.mark.req("A-SCST-19")
def test_a_switch_that_is_off_ends_the_stream_with_its_first_frame() -> None:
    held = Bench()
    held.switch.set("false")

    (only,) = play(held, payload())

    assert (only["type"], only["status"], only["code"]) == ("error", 503, "disabled")


@pytest.mark.req("A-SCST-15", "A-SCST-20")
def test_nothing_escapes_and_a_bug_is_told_without_its_words() -> None:
    def broken() -> CompletionParts:
        raise ZeroDivisionError("the merger")

    with capture_log() as logged:
        app = StreamingCompletionApp(broken, RealClock())
        (only,) = (json.loads(line) for line in app(payload(), Context()))

    assert (only["type"], only["status"], only["code"]) == ("error", 502, "completion_failed")
    assert "ZeroDivisionError" in logged.getvalue()
    assert "merger" not in logged.getvalue()


@pytest.mark.req("A-SCST-18")
def test_a_model_that_does_not_let_go_ends_with_the_deadline_all_the_same() -> None:
    held = Bench(ScriptedRound((Pause(30), *emit().steps)), clock=RealClock(), longest_s=0.2)

    *_, last = play(held, payload())

    assert (last["type"], last["status"], last["code"]) == ("error", 504, "deadline_exceeded")


@pytest.mark.req("A-SCST-02", "A-SCRS-04")
def test_a_success_is_one_line_of_the_log_here_too() -> None:
    held = Bench()
    with capture_log() as logged:
        list(StreamingCompletionApp(lambda: held.parts, held.clock)(payload(), Context()))

    (line,) = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert (line["message"], line["requestId"]) == ("structured_completion", REQUEST_ID)
    assert "Bremen" not in logged.getvalue()

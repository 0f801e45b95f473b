"""The callers' helper, with a real SDK between it and what Lambda would answer."""

import importlib.util
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from local.places import ROOT
from tests.completions import ANSWER, SCHEMA, Bench
from tests.strict.lambda_events import Invoked
from tests.strict.lambda_server import LambdaServer, serve_lambda

PATH = ROOT / "clients/python/equerry_completions.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("equerry_completions", PATH)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


helper = _load()


@contextmanager
def answering(*chunks: bytes, error: tuple[str, str] | None = None, begun: bool = True) -> Iterator[Any]:
    """Completions over a function that sends these chunks and ends so."""
    with serve_lambda() as server:
        threading.Thread(target=_serve, args=(server, chunks, error, begun), daemon=True).start()
        client = _connect(server)
        yield helper.Completions(client, function="f:live", stream_function="s:live")
        client.close()


def _serve(
    server: LambdaServer, chunks: tuple[bytes, ...], error: tuple[str, str] | None, begun: bool
) -> None:
    invoked: Invoked = server.waiting.get()
    if begun:
        invoked.head = {"content-type": "application/x-ndjson"}
    invoked.begun.set()
    for chunk in chunks:
        invoked.chunks.put(chunk)
    invoked.end(error)


def _connect(server: LambdaServer) -> Any:
    from botocore.session import get_session

    return get_session().create_client(
        "lambda",
        region_name="eu-central-1",
        endpoint_url=server.url,
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",
        config=helper.PATIENT,
    )


def request(**more: Any) -> Any:
    return helper.build_request(
        workload="tests:weather", prompt="How warm?", json_schema=SCHEMA, schema_name="Weather", **more
    )


def line(**frame: Any) -> bytes:
    return json.dumps(frame).encode() + b"\n"


START, RESULT = line(type="start", provider="p"), line(type="result", output=ANSWER, durationMs=1)


def test_the_request_it_builds_is_one_the_function_takes() -> None:
    parts = Bench().parts

    decoded = parts.decode(request(organisation_id="11111111-2222-3333-4444-555555555555"))

    assert decoded.workload == "tests:weather"


def test_a_response_is_returned() -> None:
    with answering(json.dumps({"output": ANSWER}).encode()) as completions:
        assert completions.complete(request()) == {"output": ANSWER}


@pytest.mark.parametrize(
    ("message", "status", "code", "retryable"),
    [
        ("[413 image_too_large] images[0].data may have\nmore", 413, "image_too_large", False),
        ("[503 disabled] off", 503, "disabled", True),
        ("[504 deadline_exceeded] late", 504, "deadline_exceeded", True),
        ("2026-11-30 Task timed out after 420.00 seconds", 0, "function_failed", True),
    ],
)
def test_an_error_is_read_by_its_code(message: str, status: int, code: str, retryable: bool) -> None:
    failed = ("StructuredCompletionRequestError", message)
    with answering(error=failed, begun=False) as completions, pytest.raises(helper.CompletionError) as caught:
        completions.complete(request())

    assert (caught.value.status, caught.value.code, caught.value.retryable) == (status, code, retryable)


@pytest.mark.req("A-SCST-13")
@pytest.mark.parametrize("cut", [1, 7, 10_000])
def test_frames_are_read_however_they_are_cut_and_unknown_ones_are_passed_on(cut: int) -> None:
    whole = START + line(type="of tomorrow") + RESULT
    chunks = [whole[at : at + cut] for at in range(0, len(whole), cut)]

    with answering(*chunks) as completions:
        frames = list(completions.stream(request()))

    assert [frame["type"] for frame in frames] == ["start", "of tomorrow", "result"]
    assert frames[-1]["output"] == ANSWER


@pytest.mark.parametrize(
    ("chunks", "error", "code"),
    [
        ((START,), None, "truncated"),
        ((START, RESULT[:20]), None, "truncated"),
        ((), None, "truncated"),
        ((START,), ("Function.ZeroDivisionError", "see the log"), "function_failed"),
        (
            (START, line(type="error", status=502, code="completion_failed", detail="no")),
            None,
            "completion_failed",
        ),
    ],
)
def test_a_stream_without_a_result_is_an_error(
    chunks: tuple[bytes, ...], error: tuple[str, str] | None, code: str
) -> None:
    with answering(*chunks, error=error) as completions, pytest.raises(helper.CompletionError) as caught:
        list(completions.stream(request()))

    assert caught.value.code == code


def test_a_last_frame_without_its_line_end_still_counts() -> None:
    with answering(START, RESULT[:-1]) as completions:
        assert list(completions.stream(request()))[-1]["output"] == ANSWER


def test_the_sdk_waits_for_as_long_as_the_function_may_take_and_asks_once() -> None:
    assert helper.PATIENT.read_timeout > 420
    assert helper.PATIENT.retries["total_max_attempts"] == 1

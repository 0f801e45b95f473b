"""The callers' helper, with a real SDK between it and what Lambda would answer."""

import importlib.util
import io
import json
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.session import get_session
from equerry.runtime.completion import build_completion_app
from equerry.surfaces.completion import StructuredCompletionRequestError

from local.places import ROOT
from tests.completions import ANSWER, SCHEMA, Bench, Context
from tests.strict.event_stream import frame
from tests.strict.lambda_events import Invoked
from tests.strict.lambda_server import LambdaServer, serve_lambda
from tests.strict.secrets_server import serve_secrets

SESSION = get_session()
"""One for all clients: it reads the service's description once."""
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
        client = _connect(server.url)
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


def _connect(url: str) -> Any:
    return SESSION.create_client(
        "lambda",
        region_name="eu-central-1",
        endpoint_url=url,
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",
        config=helper.PATIENT,
    )


@contextmanager
def refusing(status: int, kind: str, body: bytes = b"{}") -> Iterator[Any]:
    """Completions over a Lambda that says this; with status 0 it hangs up without a word."""

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            if not status:
                return
            self.send_response(status)
            self.send_header("x-amzn-errortype", kind)
            self.send_header("content-type", "application/vnd.amazon.eventstream")
            # Longer than what is sent, so that the client waits for more when the connection ends.
            self.send_header("content-length", str(len(body) + (1000 if status == 200 else 0)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
            """Tests print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        client = _connect(f"http://127.0.0.1:{server.server_port}")
        yield helper.Completions(client, function="f:live", stream_function="s:live")
        client.close()
        server.shutdown()


def request(**more: Any) -> Any:
    return helper.build_request(
        workload="tests:weather", prompt="How warm?", json_schema=SCHEMA, schema_name="Weather", **more
    )


class Noting:
    """A client of Lambda that keeps what it is given."""

    payload = b""

    def invoke(self, **asked: Any) -> Any:
        self.payload = asked["Payload"]
        return {"Payload": io.BytesIO(b"{}")}


@pytest.mark.parametrize("prompt", ["\u00e9" * (256 * 1024), "half of a pair: \ud800"])
def test_a_request_is_as_large_as_its_text_and_reads_as_it_was(prompt: str) -> None:
    noting = Noting()
    asked = {**request(), "prompt": prompt}

    helper.Completions(noting, function="f:live").complete(asked)

    assert json.loads(noting.payload) == asked
    # Escaped, the largest of texts and 4.5 MiB of images are more than Lambda takes.
    assert len(noting.payload) < 513 * 1024


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


def test_a_stage_without_a_model_is_not_asked_again() -> None:
    unconfigured = build_completion_app({"EQUERRY_STAGE": "test", "MODEL_PROVIDER": "extractive"})
    with pytest.raises(StructuredCompletionRequestError) as told:
        unconfigured(request(), Context())
    failed = ("StructuredCompletionRequestError", str(told.value))

    with answering(error=failed, begun=False) as completions, pytest.raises(helper.CompletionError) as caught:
        completions.complete(request())

    assert (caught.value.code, caught.value.retryable) == ("completion_failed", False)
    assert helper.CompletionError(502, "completion_failed", "declined").retryable


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


@pytest.mark.req("A-SCST-14")
def test_what_is_shown_meanwhile_is_no_part_of_what_is_kept() -> None:
    shown: list[tuple[str, str]] = []
    frames = (START, line(type="thinking", text="Hm."), line(type="output", text='{"ci'), line(type="ping"))

    with answering(*frames, RESULT) as completions:
        kept = completions.follow(request(), lambda kind, text: shown.append((kind, text)))

    assert kept == {"output": ANSWER, "durationMs": 1}
    assert shown == [("thinking", "Hm."), ("output", '{"ci')]


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (429, "TooManyRequestsException", "throttled"),
        (500, "ServiceException", "lambda_failed"),
        (0, "", "no_answer"),
    ],
)
def test_what_lambda_itself_refuses_is_an_error_like_the_others(status: int, kind: str, code: str) -> None:
    for way in ("complete", "stream"):
        with refusing(status, kind) as completions, pytest.raises(helper.CompletionError) as caught:
            list(getattr(completions, way)(request()))

        assert (caught.value.status, caught.value.code, caught.value.retryable) == (status, code, True)


def test_what_only_a_configuration_can_mend_is_left_as_it_is() -> None:
    with refusing(403, "AccessDeniedException") as completions, pytest.raises(ClientError):
        completions.complete(request())


@pytest.mark.parametrize("cut", [0, 5])
def test_a_connection_that_dies_in_the_middle_is_a_cut_stream(cut: int) -> None:
    headers = {":event-type": "PayloadChunk", ":content-type": "x/y", ":message-type": "event"}
    begun = frame(headers, START)

    read = []
    with (
        refusing(200, "", begun + begun[:cut]) as completions,
        pytest.raises(helper.CompletionError) as caught,
    ):
        read.extend(completions.stream(request()))

    assert (caught.value.code, caught.value.retryable) == ("truncated", True)


def test_the_example_on_the_page_runs_as_it_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs/structured-completion.md").read_text()
    example = textwrap.dedent(page[page.index("    import boto3") : page.index("`complete` waits;")])
    base = "/equerry/production/structured-completion"
    held = {f"{base}-function-arn": "arn:f:live", f"{base}-stream-function-arn": "arn:s:live"}
    variables = {
        "AWS_ACCESS_KEY_ID": "AKID",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "eu-central-1",
    }
    answer = json.dumps({"output": ANSWER}).encode()
    answers = ((answer,), (START, line(type="output", text="{"), RESULT))

    def serve_both() -> None:
        for chunks in answers:
            _serve(server, chunks, None, begun=True)

    with serve_lambda() as server, serve_secrets({}, held) as parameters:
        urls = {"AWS_ENDPOINT_URL_SSM": parameters, "AWS_ENDPOINT_URL_LAMBDA": server.url}
        for name, text in {**variables, **urls}.items():
            monkeypatch.setenv(name, text)
        threading.Thread(target=serve_both, daemon=True).start()
        found: dict[str, Any] = {}
        exec(example, found)  # noqa: S102  # the page's own

    assert (found["answer"], found["shown"]) == (ANSWER, ANSWER)
    assert capsys.readouterr().out == "output {\n"


def test_both_functions_are_found_by_their_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    base = "/equerry/acme/structured-completion"
    held = {f"{base}-function-arn": "arn:f:live", f"{base}-stream-function-arn": "arn:s:live"}
    session = boto3.Session("AKID", "secret", region_name="eu-central-1")
    with serve_lambda() as server, serve_secrets({}, held) as parameters:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", parameters)
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        threading.Thread(
            target=_serve, args=(server, (json.dumps({"output": ANSWER}).encode(),), None, True), daemon=True
        ).start()

        assert helper.connect(session, stage="acme").complete(request()) == {"output": ANSWER}
        with pytest.raises(LookupError, match="/equerry/other/structured-completion-function-arn"):
            helper.connect(session, stage="other")

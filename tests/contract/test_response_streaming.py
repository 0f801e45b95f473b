"""The streaming function behind a real SDK: our runtime client, started as Lambda starts it."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.session import get_session

from local.places import ROOT
from tests.completions import ANSWER, HOST, REQUEST_ID, URL, document, payload
from tests.strict.anthropic_events import Then, message, tool
from tests.strict.anthropic_server import KEY, serve_anthropic
from tests.strict.lambda_server import LambdaServer, serve_lambda
from tests.strict.secrets_server import serve_secrets

FUNCTIONS = ROOT / "functions"
LAYER = ROOT / "layers/shared/python"
WRAPPER = FUNCTIONS / "structured_completion/stream"
ARN = "arn:aws:secretsmanager:eu-central-1:111111111111:secret:claude-AbCdEf"
SDKS = (
    "boto3",
    "botocore",
    "anthropic",
    "openai",
    "httpx2",
    "pydantic",
    "jsonschema",
    "aws_lambda_powertools",
)
LATER = (*SDKS, "equerry.runtime.settings", "equerry.engine.schema_checks", "equerry.services.telemetry")
"""What the first frame does not wait for; of ours, what would cost it most."""
SESSION = get_session()
"""One for all clients: it reads the service's description once."""
EMITTED = message(tool('{"city": "Bre', 'men", "degrees": 12}', name="emit"), stop="tool_use")


@contextmanager
def function(
    server: LambdaServer, handler: str, log: Path, environ: Mapping[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the runtime client by the wrapper script, as Lambda does."""
    variables = {
        "PATH": os.environ["PATH"],
        "AWS_LAMBDA_RUNTIME_API": server.host,
        "LAMBDA_TASK_ROOT": str(FUNCTIONS),
        "PYTHONPATH": f"{LAYER}:{log.parent}",
        "RESPONSE_STREAM_CONTENT_TYPE": "application/x-ndjson",
        "_HANDLER": handler,
        **environ,
    }
    with log.open("wb") as written:
        process = subprocess.Popen(
            [WRAPPER, sys.executable, "/var/runtime/bootstrap.py"],
            env=variables,
            cwd=FUNCTIONS,
            stdout=written,
            stderr=written,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def connect(server: LambdaServer) -> Any:
    return SESSION.create_client(
        "lambda",
        region_name="eu-central-1",
        endpoint_url=server.url,
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=60),
    )


def invoke(
    server: LambdaServer, event: object, *, on_frame: Callable[[dict[str, Any]], object] = lambda _: None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the frames, each told of when it was read, and what ended the stream."""
    frames: list[dict[str, Any]] = []
    rest, ends = b"", []
    with closing(connect(server)) as client:
        answer = client.invoke_with_response_stream(
            FunctionName="stream:live", Payload=json.dumps(event).encode()
        )
        for part in answer["EventStream"]:
            if "PayloadChunk" in part:
                *lines, rest = (rest + part["PayloadChunk"]["Payload"]).split(b"\n")
                for line in lines:
                    frames.append(json.loads(line))
                    on_frame(frames[-1])
            else:
                ends.append(part["InvokeComplete"])
    assert len(ends) == 1
    assert rest == b""
    return frames, ends[0]


HANDLERS = """
import os
import time

def in_step(event, context):
    for number in range(event["frames"]):
        yield b'{"n":%d}\\n' % number
        until = time.monotonic() + 30
        while not os.path.exists(event["read"] + str(number)) and time.monotonic() < until:
            time.sleep(0.01)
        assert os.path.exists(event["read"] + str(number)), "nobody read what was written"

def at_once(event, context):
    raise ZeroDivisionError("the merger")

def before_any(event, context):
    raise ZeroDivisionError("the merger")
    yield b""

def in_the_middle(event, context):
    yield b'{"n":0}\\n'
    raise ZeroDivisionError("the merger")

def carried_through(event, context):
    for number in range(40):
        yield b'{"n":%d}\\n' % number
        time.sleep(0.02)
    open(event["mark"], "w").write("done")

def told(event, context):
    left, request_id = context.get_remaining_time_in_millis(), context.aws_request_id
    yield ('{"left":%d,"id":"%s"}\\n' % (left, request_id)).encode()
"""


@pytest.fixture
def server() -> Iterator[LambdaServer]:
    with serve_lambda() as running:
        yield running
        assert running.violations == []


@contextmanager
def handling(server: LambdaServer, tmp_path: Path, name: str) -> Iterator["subprocess.Popen[bytes]"]:
    (tmp_path / "streams.py").write_text(HANDLERS)
    with function(server, f"streams.{name}", tmp_path / "log", {}) as process:
        yield process


def test_each_chunk_is_read_when_it_was_written(server: LambdaServer, tmp_path: Path) -> None:
    read = f"{tmp_path}/read-"

    def answer(frame: dict[str, Any]) -> None:
        # The function waits for this before it writes the next.
        Path(f"{read}{frame['n']}").touch()

    with handling(server, tmp_path, "in_step"):
        frames, end = invoke(server, {"frames": 5, "read": read}, on_frame=answer)
        again, _ = invoke(server, {"frames": 3, "read": read})

    assert [frame["n"] for frame in frames] == [0, 1, 2, 3, 4]
    assert [frame["n"] for frame in again] == [0, 1, 2]
    assert end == {}


def test_a_failure_before_the_first_byte_is_the_invocations(server: LambdaServer, tmp_path: Path) -> None:
    for name in ("at_once", "before_any"):
        with handling(server, tmp_path, name):
            invoked = server.invoke(b"{}")
            assert invoked.ended.wait(30)

        assert invoked.error == ("Function.ZeroDivisionError", "see the function's log")
        assert invoked.head == {}


@pytest.mark.parametrize("content", [b"[" * 100_000 + b"]" * 100_000, b"9" * 5_000], ids=["deep", "long"])
def test_json_that_cannot_be_read_fails_its_own_invocation_alone(
    server: LambdaServer, tmp_path: Path, content: bytes
) -> None:
    with handling(server, tmp_path, "told") as process:
        invoked = server.invoke(content)
        assert invoked.ended.wait(30)
        ((frame,), _) = invoke(server, {})

        assert process.poll() is None
    assert invoked.error is not None
    assert invoked.error[1] == "see the function's log"
    assert frame["id"]


def test_a_failure_after_it_ends_the_stream_with_an_error(server: LambdaServer, tmp_path: Path) -> None:
    with handling(server, tmp_path, "in_the_middle"):
        frames, end = invoke(server, {})

    assert frames == [{"n": 0}]
    assert end == {"ErrorCode": "Function.ZeroDivisionError", "ErrorDetails": "see the function's log"}
    assert "merger" not in (tmp_path / "log").read_text()


@pytest.mark.req("A-SCST-16")
def test_when_the_reader_goes_the_work_is_carried_through(server: LambdaServer, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with handling(server, tmp_path, "carried_through") as process, closing(connect(server)) as client:
        answer = client.invoke_with_response_stream(
            FunctionName="stream", Payload=json.dumps({"mark": str(mark)}).encode()
        )
        next(iter(answer["EventStream"]))
        answer["EventStream"].close()

        deadline = time.monotonic() + 30
        while not mark.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert mark.exists()
        assert process.poll() is None
        later = server.invoke(json.dumps({"mark": str(mark)}).encode())
        assert later.ended.wait(30)


def test_the_time_that_is_left_and_the_request_are_told(server: LambdaServer, tmp_path: Path) -> None:
    with handling(server, tmp_path, "told"):
        ((frame,), _) = invoke(server, {})

    assert 0 < frame["left"] <= 60_000
    assert server.known[frame["id"]].head["content-type"] == "application/x-ndjson"


def test_a_handler_that_cannot_be_imported_is_reported_and_ends_the_process(
    server: LambdaServer, tmp_path: Path
) -> None:
    with function(server, "absent.handle", tmp_path / "log", {}) as process:
        assert process.wait(30) == 1

    assert server.init_error == "Function.ModuleNotFoundError"


def build_variables(provider_url: str, aws_url: str) -> dict[str, str]:
    return {
        "EQUERRY_STAGE": "test",
        "MODEL_PROVIDER": "anthropic",
        "MODEL_ID": "claude-test-1",
        "MODEL_BASE_URL": provider_url,
        "MODEL_SECRET_ARN": ARN,
        "STRUCTURED_COMPLETION_DOCUMENT_HOSTS": HOST,
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ENDPOINT_URL": aws_url,
        "AWS_ACCESS_KEY_ID": "AKID",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }


@contextmanager
def completing(server: LambdaServer, tmp_path: Path, **changes: str) -> Iterator[Any]:
    """The function itself, with Anthropic's wire behind it; gives the strict provider."""
    with serve_anthropic() as provider, serve_secrets({ARN: KEY}) as aws:
        variables = build_variables(provider.url, aws) | changes
        with function(server, "structured_completion.streaming.handle", tmp_path / "log", variables):
            yield provider
        assert provider.violations == []


@pytest.mark.req("A-SCST-02", "A-SCST-03", "A-SCST-06", "A-SCST-08", "A-SCST-10", "A-SCDO-05", "A-SCDO-07")
def test_a_completion_is_streamed_to_a_real_client(server: LambdaServer, tmp_path: Path) -> None:
    with completing(server, tmp_path) as provider:
        provider.play(EMITTED)
        frames, end = invoke(server, payload(documents=[document(title="Plan")] * 20))

    # A machine that is busy enough has time for a ping while the SDK is imported.
    assert [frame["type"] for frame in frames if frame["type"] != "ping"] == ["start", "output", "result"]
    assert frames[0] == {
        "type": "start",
        "requestId": REQUEST_ID,
        "provider": "anthropic",
        "model": "claude-test-1",
    }
    assert frames[-1]["output"] == ANSWER
    assert end == {}
    (asked,) = provider.requests
    assert asked["tool_choice"]["name"] == "emit"
    # By their address alone, so that there is nothing here whose pages or bytes could be counted.
    *documents, prompt = asked["messages"][0]["content"]
    wanted = {"type": "document", "source": {"type": "url", "url": URL}, "title": "Plan"}
    assert documents == [wanted] * 20
    assert prompt["type"] == "text"


@pytest.mark.req("A-SCST-06")
def test_the_start_leaves_before_any_sdk_is_imported(server: LambdaServer, tmp_path: Path) -> None:
    (tmp_path / "looking.py").write_text(
        f"""
import sys, json
from structured_completion.streaming import handle as inner

def handle(event, context):
    for line in inner(event, context):
        loaded = [name for name in {LATER!r} if name in sys.modules]
        yield json.dumps({{"frame": json.loads(line)["type"], "loaded": loaded}}).encode() + b"\\n"
"""
    )
    with serve_anthropic() as provider, serve_secrets({ARN: KEY}) as aws:
        variables = build_variables(provider.url, aws) | {
            "STRUCTURED_COMPLETIONS_ENABLED_SSM_PARAMETER": "/equerry/test/completions"
        }
        provider.play(EMITTED)
        with function(server, "looking.handle", tmp_path / "log", variables):
            frames, _ = invoke(server, payload())

    assert frames[0] == {"frame": "start", "loaded": []}
    assert "anthropic" in frames[-1]["loaded"]


def _wait(event: threading.Event) -> None:
    event.wait(30)


@pytest.mark.req("A-SCST-16")
def test_a_completion_whose_reader_left_is_carried_through(server: LambdaServer, tmp_path: Path) -> None:
    left, finished = threading.Event(), threading.Event()
    with completing(server, tmp_path) as provider, closing(connect(server)) as client:
        provider.play((*EMITTED[:4], Then(partial(_wait, left)), *EMITTED[4:], Then(finished.set)))
        answer = client.invoke_with_response_stream(
            FunctionName="stream", Payload=json.dumps(payload()).encode()
        )
        next(iter(answer["EventStream"]))
        answer["EventStream"].close()
        left.set()

        assert finished.wait(30)
        deadline = time.monotonic() + 30
        while "structured_completion" not in (tmp_path / "log").read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert '"message":"structured_completion"' in (tmp_path / "log").read_text()

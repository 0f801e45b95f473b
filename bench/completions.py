"""What a structured completion costs beside the vendor's own client, and how soon a stream begins.

    python -m bench.completions

Over the client: the same forced call, streamed from the same strict local server in another process, read by
the vendor's client, and by the function with everything it does (checks, schema, judging). In turn, in this
process. Cold start: a process as Lambda starts it, from its start to the frame, in wall time and in processor
time of its own. Frames: the same, warm, as botocore reads them.
"""

import json
import logging
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.runtime.clock import SystemClock
from equerry.runtime.completion import CompletionApp
from equerry.runtime.completion_parts import CompletionParts
from equerry.services.completion import ChosenModel, CompletionService
from google.genai import types

from bench.vendor_clients import open_anthropic, open_bedrock, open_google, open_openai
from local.places import ROOT
from tests.completions import SCHEMA, Context, payload
from tests.contract.models.subjects import KITS, Kit
from tests.fakes.switches import MemorySwitchAdapter
from tests.strict import (
    anthropic_events,
    bedrock_events,
    bedrock_server,
    google_events,
    google_server,
    openai_events,
)
from tests.strict.lambda_server import LambdaServer, serve_lambda
from tests.strict.replies import Stream
from tests.strict.secrets_server import serve_secrets

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ROUNDS = 60
COLD_ROUNDS = 3
PIECES = 200
FRAMES = 5000
PIECE_S = 0.01
NAMES = ("anthropic", "openai", "bedrock", "google")
MOST_RATIO = 1.3
ARN = "arn:aws:secretsmanager:eu-central-1:111111111111:secret:bench-AbCdEf"
LAYER, FUNCTIONS = ROOT / "layers/shared/python", ROOT / "functions"
_ANSWER = json.dumps({"city": "x" * PIECES * 6, "degrees": 1})
_PARTS = [_ANSWER[at : at + 6] for at in range(0, len(_ANSWER), 6)]


def main() -> None:
    """Print all three tables."""
    logging.getLogger("equerry").setLevel(logging.CRITICAL)
    print(f"one answer in {len(_PARTS)} pieces, median of {ROUNDS}; milliseconds")
    print(
        f"{'provider':<12}{'client cpu':>11}{'ours':>8}{'ratio':>7}{'client wall':>13}{'ours':>8}{'ratio':>7}"
    )
    for kit in (kit for kit in KITS if kit.name in NAMES):
        with serve_apart(kit.name) as url:
            (cpu, wall), (our_cpu, our_wall) = compare(kit, url)
        print(
            f"{kit.name:<12}{cpu:>11.1f}{our_cpu:>8.1f}{our_cpu / cpu:>7.2f}"
            f"{wall:>13.1f}{our_wall:>8.1f}{our_wall / wall:>7.2f}"
        )
    print(f"\ncold, from the start of the process, median of {COLD_ROUNDS}; milliseconds")
    print(f"a bare interpreter has {measure_bare():.0f} ms of the processor")
    print(f"{'provider':<12}{'':<10}{'start cpu':>10}{'start':>8}{'result':>9}")
    for name in NAMES:
        for compiled in (True, False):
            cpu, start, end = measure_cold(name, compiled=compiled)
            kind = ".pyc" if compiled else "source"
            print(f"{name:<12}{kind:<10}{cpu:>10.0f}{start:>8.0f}{end:>9.0f}")
    per_second, lag_ms = measure_frames()
    print(f"\nframes, read by botocore: {per_second:.0f} a second; lag of a single one {lag_ms:.2f} ms")


def compare(kit: Kit, url: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return processor and wall time of the client and of the function; they take turns."""

    class Place:
        """Where the server is; all that a kit asks of one."""

    place: Any = Place()
    place.url = url
    taken: dict[str, list[tuple[float, float]]] = {"client": [], "ours": []}
    with kit.connect(place) as model:
        app = CompletionApp(_build_parts(model))
        asked = payload()
        ways: dict[str, Callable[[], Any]] = {
            "client": lambda: json.loads("".join(_CLIENTS[kit.name](url, kit.key))),
            "ours": lambda: app(asked, Context())["output"],
        }
        for _ in range(ROUNDS):
            for way, read in ways.items():
                cpu, wall = time.process_time(), time.perf_counter()
                assert read()["degrees"] == 1, way
                taken[way].append((time.process_time() - cpu, time.perf_counter() - wall))
    return _median(taken["client"]), _median(taken["ours"])


def measure_cold(name: str, *, compiled: bool) -> tuple[float, ...]:
    """Return the processor time until `start` left, and when it and `result` were read, in milliseconds."""
    taken = []
    with serve_apart(name) as url, serve_secrets({ARN: _KEYS[name]}) as aws:
        for _ in range(COLD_ROUNDS):
            with serve_lambda() as server:
                taken.append(_start_cold(server, name, url, aws, compiled=compiled))
    return tuple(statistics.median(times) * 1000 for times in zip(*taken, strict=True))


def measure_bare() -> float:
    """Return the processor time of a process that does nothing, in milliseconds."""
    told = "import time; print(time.process_time())"
    taken = [float(subprocess.check_output([sys.executable, "-I", "-c", told])) for _ in range(COLD_ROUNDS)]
    return statistics.median(taken) * 1000


def measure_frames() -> tuple[float, float]:
    """Return frames a second when the handler never waits, and the lag when it does."""
    handler = """
import json, time
def handle(event, context):
    for number in range(event["frames"]):
        yield json.dumps({"at": time.monotonic(), "pad": "x" * 60}).encode() + b"\\n"
        time.sleep(event["pause"]) if event["pause"] else None
"""
    with tempfile.TemporaryDirectory() as folder, serve_lambda() as server:
        (Path(folder) / "frames.py").write_text(handler)
        with _run(server, "frames.handle", {"PYTHONPATH": f"{LAYER}:{folder}"}):
            _read(server, {"frames": 10, "pause": 0})
            began = time.perf_counter()
            read = _read(server, {"frames": FRAMES, "pause": 0})
            per_second = len(read) / (time.perf_counter() - began)
            lags = [at - frame["at"] for at, frame in _read(server, {"frames": 200, "pause": PIECE_S})]
    return per_second, statistics.median(lags) * 1000


def _start_cold(
    server: LambdaServer, name: str, url: str, aws: str, *, compiled: bool
) -> tuple[float, float, float]:
    variables = {
        "EQUERRY_STAGE": "bench",
        "MODEL_PROVIDER": name,
        "MODEL_ID": _MODELS[name],
        "MODEL_BASE_URL": url,
        "MODEL_SECRET_ARN": ARN,
        "STRUCTURED_COMPLETIONS_ENABLED_SSM_PARAMETER": "/equerry/bench/completions",
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ENDPOINT_URL": aws,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
        "AWS_ACCESS_KEY_ID": bedrock_server.ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": "a-secret",
        "PYTHONPATH": f"{LAYER}:{ROOT}",
    }
    with tempfile.TemporaryDirectory() as empty:
        if not compiled:
            variables |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": empty}
        began = time.monotonic()
        with _run(server, "bench.cold_completion.handle", variables):
            read = _read(server, payload())
    assert read[-1][1]["type"] == "result", read[-1][1]
    return read[0][1]["cpuS"], read[0][0] - began, read[-1][0] - began


@contextmanager
def _run(server: LambdaServer, handler: str, environ: dict[str, str]) -> Iterator[None]:
    variables = {
        "PATH": os.environ["PATH"],
        "AWS_LAMBDA_RUNTIME_API": server.host,
        "LAMBDA_TASK_ROOT": str(FUNCTIONS),
        "_HANDLER": handler,
        **environ,
    }
    script = FUNCTIONS / "structured_completion/stream"
    process = subprocess.Popen(
        [script, sys.executable, "-"], env=variables, cwd=FUNCTIONS, stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _read(server: LambdaServer, event: object) -> list[tuple[float, dict[str, Any]]]:
    """Return the frames of one invocation, each with the moment it was read."""
    read: list[tuple[float, dict[str, Any]]] = []
    with closing(_connect(server)) as client:
        answer = client.invoke_with_response_stream(FunctionName="f", Payload=json.dumps(event).encode())
        chunks = (part["PayloadChunk"] for part in answer["EventStream"] if "PayloadChunk" in part)
        read.extend((time.monotonic(), json.loads(chunk["Payload"])) for chunk in chunks)
    return read


def _connect(server: LambdaServer) -> Any:
    from botocore.session import get_session

    return get_session().create_client(
        "lambda",
        region_name="eu-central-1",
        endpoint_url=server.url,
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",
    )


def _build_parts(model: DrivenModelAdapter) -> CompletionParts:
    service = CompletionService(
        choose=lambda _: ChosenModel(choice=model.choice, model=model),
        switch=MemorySwitchAdapter(),
        clock=SystemClock(),
        max_output_tokens=8000,
        longest_s=60,
    )
    return CompletionParts(service=service, hosts=frozenset())


def _median(taken: list[tuple[float, float]]) -> tuple[float, float]:
    first, second = (statistics.median(times) * 1000 for times in zip(*taken, strict=True))
    return first, second


def read_anthropic(url: str, key: str) -> Iterator[str]:
    """The SDK's own stream of events."""
    client = open_anthropic(url, key)
    tools: Any = [{"name": "emit", "description": "x", "input_schema": SCHEMA}]
    with client.messages.create(
        model="claude-test-1",
        max_tokens=8000,
        messages=[{"role": "user", "content": "Hello"}],
        tools=tools,
        tool_choice={"type": "tool", "name": "emit"},
        stream=True,
    ) as stream:
        for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                yield event.delta.partial_json


def read_openai(url: str, key: str) -> Iterator[str]:
    """The SDK's own stream of events."""
    client = open_openai(url, key)
    tools: Any = [{"type": "function", "name": "emit", "parameters": SCHEMA, "strict": False}]
    with client.responses.create(
        model="gpt-test-1",
        input="Hello",
        store=False,
        tools=tools,
        tool_choice={"type": "function", "name": "emit"},
        stream=True,
    ) as stream:
        for event in stream:
            if event.type == "response.function_call_arguments.delta":
                yield event.delta


def read_bedrock(url: str, key: str) -> Iterator[str]:
    """botocore's own stream of events."""
    client = open_bedrock(url, key)
    spec = {"toolSpec": {"name": "emit", "description": "x", "inputSchema": {"json": SCHEMA}}}
    asked = client.converse_stream(
        modelId=bedrock_server.MODEL,
        messages=[{"role": "user", "content": [{"text": "Hello"}]}],
        toolConfig={"tools": [spec], "toolChoice": {"tool": {"name": "emit"}}},
    )
    with closing(asked["stream"]) as stream:
        for event in stream:
            if call := event.get("contentBlockDelta", {}).get("delta", {}).get("toolUse"):
                yield call["input"]


def read_google(url: str, key: str) -> Iterator[str]:
    """The SDK's own stream of responses."""
    client = open_google(url, key)
    config = types.GenerateContentConfig(
        response_mime_type="application/json", response_json_schema=SCHEMA, max_output_tokens=8000
    )
    stream = client.models.generate_content_stream(model=google_server.MODEL, contents="Hello", config=config)
    for response in stream:
        if response.text:
            yield response.text


_CLIENTS: dict[str, Callable[[str, str], Iterator[str]]] = {
    "anthropic": read_anthropic,
    "openai": read_openai,
    "bedrock": read_bedrock,
    "google": read_google,
}
_MODELS = {
    "anthropic": "claude-test-1",
    "openai": "gpt-test-1",
    "bedrock": bedrock_server.MODEL,
    "google": google_server.MODEL,
}
_KEYS = {kit.name: kit.key for kit in KITS}


@contextmanager
def serve_apart(name: str) -> Iterator[str]:
    """Serve in a process of its own, so that its work is not counted."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_serve, args=(name, theirs), daemon=True)
    process.start()
    try:
        yield str(ours.recv())
    finally:
        ours.send("stop")
        process.join(10)


def _serve(name: str, pipe: "Connection[Any, Any]") -> None:
    answers = {
        "anthropic": lambda: anthropic_events.message(
            anthropic_events.tool(*_PARTS, name="emit"), stop="tool_use"
        ),
        "openai": lambda: openai_events.response(openai_events.tool(*_PARTS, name="emit")),
        "bedrock": lambda: bedrock_events.message(bedrock_events.tool(*_PARTS, name="emit"), stop="tool_use"),
        "google": lambda: google_events.answer(google_events.text(*_PARTS)),
    }
    (kit,) = (kit for kit in KITS if kit.name == name)
    answer = Stream(answers[name]())
    with kit.serve() as server:
        server.choose = lambda _: answer
        server.keeps_alive = True
        pipe.send(server.url)
        pipe.recv()


if __name__ == "__main__":
    main()

"""Many conversations at once on the local stack, with a model that takes five to sixty seconds for an answer.

    python -m bench.load [CONVERSATIONS]      200 by default

Starts a stack of its own on free ports and drops it afterwards. Real: the deployed WebSocket API with its
function, sockets, queue, tables, database, and the applications of the HTTP function and the worker, with the
live provider's adapter. Stood in for: those two functions' containers, by threads of two processes, and the
provider, by a server that speaks its wire. All of it shares this machine: delays are upper bounds and tell no
capacity.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from bench.load.entry import Entry
from bench.load.readers import Reader
from local.aws import Session, build_environment
from local.deploy import load_outputs
from local.places import ROOT, Places
from local.ports import find_free_port
from local.progress import Progress
from local.stack import Stack
from local.tokens import build_mint, load_people
from tests.strict.anthropic_server import KEY

HANDS = 2
"""Sockets opened at the same time; the emulator starts a process of the function for each."""
LIMITS = {
    "ASSISTANT_USER_TURNS_PER_MINUTE": "100000",
    "ASSISTANT_ORGANISATION_TURNS_PER_MINUTE": "100000",
    "ASSISTANT_DAILY_TOKENS": "1000000000",
}


def main(conversations: int) -> None:
    """Measure and print."""
    with _stack() as places, _without_worker(places), _process("bench.load.model") as (_, model_url):
        http, worker = _prepare(places, model_url)
        token, _ = build_mint(places).sign(load_people()[0])
        entry = Entry(http, token)
        began = time.monotonic()
        readers = [_put_question(entry, number) for number in range(conversations)]
        print(
            f"{conversations} questions accepted in {time.monotonic() - began:.0f} s, none begun", flush=True
        )
        with _process("bench.load.fleet", str(conversations), environment=worker) as (fleet, _):
            asyncio.run(_read_all(entry, readers, fleet))
            _tell_fleet(fleet, "over")
            assert fleet.stdout is not None
            print(f"messages handled: {fleet.stdout.readline().strip()}")
    _tell(readers)


@contextmanager
def _stack() -> Iterator[Places]:
    """Start a stack, or use the one that the environment describes where that is to be kept."""
    if os.environ.get("EQUERRY_KEEP_STACK") == "true":
        places = Places.from_env()
        Stack(places, Progress()).up()
        yield places
        return
    with tempfile.TemporaryDirectory() as scratch:
        chat, issuer, emulator, postgres = (find_free_port() for _ in range(4))
        places = Places(state=Path(scratch), chat=chat, issuer=issuer, emulator=emulator, postgres=postgres)
        stack = Stack(places, Progress())
        try:
            stack.up()
            yield places
        finally:
            stack.down()


@contextmanager
def _without_worker(places: Places) -> Iterator[None]:
    """Keep the stack's own worker from the queue for a while."""
    functions, worker = Session(places).functions, load_outputs(places)["WorkerFunctionName"]
    sources = functions.list_event_source_mappings()["EventSourceMappings"]
    ours = [source["UUID"] for source in sources if f":{worker}" in source["FunctionArn"]]
    for uuid in ours:
        functions.update_event_source_mapping(UUID=uuid, Enabled=False)
    try:
        yield
    finally:
        for uuid in ours:
            functions.update_event_source_mapping(UUID=uuid, Enabled=True)


def _prepare(places: Places, model_url: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the environments of the HTTP function and of the fleet."""
    session = Session(places)
    found = session.functions.list_functions()["Functions"]
    variables = {entry["Handler"]: entry.get("Environment", {}).get("Variables", {}) for entry in found}
    ours = {**build_environment(places), **LIMITS, "PROFILES_PATH": str(ROOT / "profiles")}
    model = {
        "MODEL_PROVIDER": "anthropic",
        "MODEL_ID": "claude-test-1",
        "MODEL_BASE_URL": model_url,
        "MODEL_MOST_AT_ONCE": "1000",
        "MODEL_SECRET_ARN": session.secrets.create_secret(Name=f"load-{time.time_ns()}", SecretString=KEY)[
            "ARN"
        ],
    }
    return {**variables["turn.http.handle"], **ours}, {**variables["worker.handler.handle"], **ours, **model}


def _put_question(entry: Entry, number: int) -> Reader:
    conversation = entry.post("/conversations", {"title": "load"})["conversationId"]
    text = {"text": f"Tell me the time, question {number}"}
    return Reader(conversation, entry.post(f"/conversations/{conversation}/messages", text)["runId"])


async def _read_all(entry: Entry, readers: list[Reader], fleet: "subprocess.Popen[str]") -> None:
    def find_address() -> str:
        ticket = entry.post("/tickets")
        return f"{ticket['webSocketUrl']}?ticket={ticket['ticket']}"

    ready, door = asyncio.Semaphore(0), asyncio.Semaphore(HANDS)
    reading = [asyncio.create_task(reader.read(find_address, door, ready)) for reader in readers]
    for _ in readers:
        await ready.acquire()
    _tell_fleet(fleet, "begin")
    await asyncio.gather(*reading)


def _tell_fleet(fleet: "subprocess.Popen[str]", word: str) -> None:
    assert fleet.stdin is not None
    fleet.stdin.write(f"{word}\n")
    fleet.stdin.flush()


@contextmanager
def _process(
    module: str, *words: str, environment: Mapping[str, str] | None = None
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run a module of the bench beside this one; yield it with its first line."""
    with subprocess.Popen(
        [sys.executable, "-m", module, *words],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def _tell(readers: list[Reader]) -> None:
    faults = Counter(reader.fault for reader in readers if reader.fault)
    frames = sum(len(reader.frames) for reader in readers)
    print(f"{len(readers)} readers, {frames} frames; every envelope once, in order, one done: {not faults}")
    for fault, count in faults.most_common():
        print(f"  {count} readers: {fault}")
    delays = [delay for reader in readers for delay in reader.delays_s]
    tail = quantiles(delays, n=20)[-1]
    print(
        f"from the model's word to the reader's: median {median(delays):.2f} s, 95th percentile {tail:.2f} s"
    )
    print(f"most conversations in mid-answer at once: {_find_peak(readers)}")


def _find_peak(readers: list[Reader]) -> int:
    """Return how many answers were being written at the busiest moment."""
    changes: list[tuple[float, int]] = []
    for reader in readers:
        times = [at for at, frame in reader.frames if frame["type"] == "token"]
        changes += [(times[0], 1), (times[-1], -1)] if times else []
    peak = now = 0
    for _, change in sorted(changes):
        now += change
        peak = max(peak, now)
    return peak


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

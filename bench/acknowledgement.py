"""What an accepted question costs before it is acknowledged: round trips, CPU, and a cold start's imports.

    python -m bench.acknowledgement [QUESTIONS]      200 questions by default

The HTTP function's own handler, over PostgreSQL and the emulator on this machine, one question at a time and
warm. CPU is the handling thread's. Imports are whole processes, less a bare interpreter's time, beside one
that imports boto3 and makes one client. Figures are for comparison on one machine.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import median, quantiles

from local.emulator import Emulator
from local.places import ROOT, Places
from local.ports import find_free_port
from local.postgres import EmbeddedPostgres
from tests.chaos.cell import Cell, open_cell
from tests.chaos.provider import mark_question
from tests.contract.databases import build_database

STARTS = 9
BARE = "pass"
BOTO3 = 'import boto3; boto3.client("sqs", region_name="us-east-1")'
CODE = "import equerry.runtime.http"
HANDLER = "import turn.http"


def main(questions: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        places = Places(
            state=root / "aws", chat=1, issuer=2, emulator=find_free_port(), postgres=find_free_port()
        )
        places.state.mkdir()
        emulator = Emulator(places)
        emulator.start()
        try:
            with (
                EmbeddedPostgres(root / "postgres", places.postgres, durable=False) as server,
                open_cell(places, build_database(server)) as cell,
            ):
                os.environ["AWS_ENDPOINT_URL"] = cell.aws.url
                _measure_handler(cell, questions)
                _measure_imports(cell.environment)
        finally:
            emulator.stop()


def _measure_handler(cell: Cell, questions: int) -> None:
    first, *others = [_open_conversation(cell) for _ in range(questions + 1)]
    _ask(cell, first)  # connects, and reads secret and switch
    cell.aws.calls.clear()
    cell.database.calls.clear()
    seconds = [_ask(cell, conversation) for conversation in others]
    aws = Counter(f"{call.service}.{call.operation}" for call in cell.aws.calls)
    database = Counter(call.operation for call in cell.database.calls)
    told = ", ".join(f"{name} {count / questions:g}" for name, count in aws.most_common())
    print(f"to AWS, each question: {told}")
    print(f"to PostgreSQL, each question: {database['BEGIN'] / questions:g} transactions")
    tail = quantiles(seconds, n=20)[-1]
    print(f"CPU of the handler: median {median(seconds) * 1000:.1f} ms, 95th percentile {tail * 1000:.1f} ms")


def _open_conversation(cell: Cell) -> str:
    opened = cell.request("POST", "/conversations", {"title": "bench"}, organisation="bench")
    return str(opened.content["conversationId"])


def _ask(cell: Cell, conversation: str) -> float:
    """Put one question; return the CPU time of its acknowledgement, in seconds."""
    path = f"/conversations/{conversation}/messages"
    began = time.thread_time()
    reply = cell.request("POST", path, {"text": mark_question("say")}, organisation="bench")
    spent = time.thread_time() - began
    assert reply.status == 202, reply
    return spent


def _measure_imports(environment: Mapping[str, str]) -> None:
    bare, boto3, code, handler = (
        median(_start(source, environment) for _ in range(STARTS)) for source in (BARE, BOTO3, CODE, HANDLER)
    )
    print(f"bare interpreter: {bare * 1000:.0f} ms of CPU")
    print(f"boto3 and one client: {(boto3 - bare) * 1000:.0f} ms more")
    for name, took in (
        ("its code imported", code),
        ("ready: clients made, secret and parameters read", handler),
    ):
        print(f"the HTTP function, {name}: {(took - bare) * 1000:.0f} ms more,", end=" ")
        print(f"{(took - bare) / (boto3 - bare):.2f} times that")


def _start(source: str, environment: Mapping[str, str]) -> float:
    """Run a process to its end; return its CPU time in seconds."""
    path = f"{ROOT / 'layers/shared/python'}:{ROOT / 'functions'}"
    process = subprocess.Popen(
        [sys.executable, "-c", source],
        env={**os.environ, **environment, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, source
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    os.environ.update(
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",
        AWS_DEFAULT_REGION="us-east-1",
        POWERTOOLS_TRACE_DISABLED="true",
        POWERTOOLS_LOG_LEVEL="WARNING",
    )
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

"""Both functions of structured completions as processes of their own: started once, asked again and again."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.places import ROOT
from tests.contract.test_response_streaming import function, invoke
from tests.strict.lambda_server import serve_lambda

WAITED = """
import json, logging, os, sys, traceback
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
from structured_completion.handler import handle

class Context:
    aws_request_id = "1"
    def __init__(self, left_ms):
        self.left_ms = left_ms
    def get_remaining_time_in_millis(self):
        return self.left_ms

with os.fdopen(int(sys.argv[1]), "w") as told:
    for line in sys.stdin:
        event, left_ms = json.loads(line)
        try:
            answer = handle(event, Context(left_ms))
        except Exception as failure:
            traceback.print_exc(file=sys.stdout)  # as Lambda's own client does
            answer = str(failure)
        sys.stdout.flush()
        print(json.dumps(answer), file=told, flush=True)
"""


@dataclass(slots=True)
class Running:
    """A function that runs.

    Attributes:
        ask: invokes it with an event and the seconds it has; returns what its caller is told.
        log: all that it has written.
    """

    ask: Callable[[object, float], str]
    log: Path
    _read: int = 0

    def read_log(self) -> str:
        """Return what was written since this was called last."""
        with self.log.open() as written:
            written.seek(self._read)
            new = written.read()
            self._read = written.tell()
        return new


@contextmanager
def waiting(environ: Mapping[str, str], log: Path) -> Iterator[Running]:
    """The function that is waited for."""
    source, sink = os.pipe()
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT / 'layers/shared/python'}:{ROOT / 'functions'}",
        **environ,
    }
    with log.open("wb") as written, os.fdopen(source) as told:
        process = subprocess.Popen(
            [sys.executable, "-c", WAITED, str(sink)],
            env=variables,
            stdin=subprocess.PIPE,
            stdout=written,
            stderr=written,
            pass_fds=(sink,),
            text=True,
        )
        os.close(sink)
        assert process.stdin

        def ask(event: object, time_s: float) -> str:
            assert process.stdin
            process.stdin.write(json.dumps([event, round(time_s * 1000)]) + "\n")
            process.stdin.flush()
            return told.readline()

        try:
            yield Running(ask, log)
        finally:
            process.stdin.close()
            process.kill()
            process.wait()


@contextmanager
def streaming(environ: Mapping[str, str], log: Path) -> Iterator[Running]:
    """The function that streams, before our runtime client."""
    with (
        serve_lambda() as server,
        function(server, "structured_completion.streaming.handle", log, environ),
    ):

        def ask(event: object, time_s: float) -> str:
            server.time_s = time_s
            frames: list[dict[str, Any]] = invoke(server, event)[0]
            # It writes its line behind the last frame.
            assert server.idle.wait(60)
            return json.dumps(frames[-1])

        yield Running(ask, log)
        assert server.violations == []

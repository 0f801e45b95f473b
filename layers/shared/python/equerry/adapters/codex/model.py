"""One run of the command as a round of a ModelPort."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from equerry.adapters.codex.events import RunReader
from equerry.adapters.codex.request import PROVIDER, Json, encode_request
from equerry.adapters.rounds.attempt import Attempt
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.adapters.rounds.failures import unusable
from equerry.engine.model import ModelChoice, ModelRequest, ModelStream
from equerry.kernel.clock import Clock

EXECUTABLE = "codex"
INHERITED = ("CODEX_HOME", "HOME", "LANG", "LC_ALL", "PATH", "SSL_CERT_FILE", "TMPDIR")
"""All that the command sees of this process's environment: where its own login is, and no secret of ours."""
FLAGS = (
    "exec",
    "--json",
    "--sandbox",
    "read-only",
    "--skip-git-repo-check",
    "--ephemeral",
    "--ignore-user-config",
    "--ignore-rules",
    "--color",
    "never",
)


class CodexWire:
    """A process a round, without a shell, in an empty folder, with the prompt on its standard input."""

    def __init__(self, executable: str, *, model: str, environment: Mapping[str, str]) -> None:
        self._executable = executable
        self._model = model
        self._environment = {name: environment[name] for name in INHERITED if name in environment}

    @property
    def choice(self) -> ModelChoice:
        """The model as the command names it."""
        return ModelChoice(provider=PROVIDER, model=self._model)

    def encode(self, request: ModelRequest) -> Json:
        """See Wire."""
        offered = [tool.name for tool in request.tools]
        return {**encode_request(request), "offered": offered, "calls_allowed": request.tools_allowed}

    def play(self, body: Json, attempt: Attempt) -> ModelStream:
        """See Wire."""
        reader = RunReader(offered=frozenset(body["offered"]), calls_allowed=body["calls_allowed"])
        with closing(self._run(body, attempt)) as lines:
            yield from reader.read(lines)

    def _run(self, body: Json, attempt: Attempt) -> Generator[bytes, None, None]:
        """Yield the lines that the command prints; closing it kills the command and what it started."""
        with (
            TemporaryDirectory(prefix="codex-") as folder,
            self._start(body, Path(folder)) as process,
            attempt.interrupting(partial(_kill, process)),
        ):
            # It may have died before it read.
            with suppress(BrokenPipeError), _open(process.stdin) as prompt:
                prompt.write(body["prompt"].encode())
            for line in _open(process.stdout):
                attempt.check(begun=True)
                yield line

    @contextmanager
    def _start(self, body: Json, folder: Path) -> Generator[subprocess.Popen[bytes], None, None]:
        command = [self._executable, *FLAGS, "--cd", str(folder), "--model", self._model]
        if body["schema"] is not None:
            schema = folder / "answer.schema.json"
            schema.write_text(json.dumps(body["schema"]))
            command += ["--output-schema", str(schema)]
        try:
            process = subprocess.Popen(  # noqa: S603  # no shell, and nothing of the request is an argument
                [*command, "-"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment,
                cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            raise unusable(f"{type(error).__name__}: no command to run") from None
        try:
            yield process
        finally:
            _kill(process)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("the process was started without its pipes")
    return pipe


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the command and all that it started, which share its group."""
    # It may have just ended by itself.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def connect_codex(
    *, model: str, executable: str | None, clock: Clock, jitter: Callable[[], float]
) -> DrivenModelAdapter:
    """Return an adapter; nothing is started before its first use.

    Args:
        executable: None for the one on the path.
        jitter: uniform in [0, 1).
    """
    wire = CodexWire(executable or EXECUTABLE, model=model, environment=os.environ)
    return DrivenModelAdapter(wire, clock=clock, jitter=jitter)

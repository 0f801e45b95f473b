"""The parts of the stack, in the order they start."""

import subprocess
import sys
import time
from typing import Protocol

from local.emulator import Emulator
from local.errors import PartFailed
from local.places import ROOT, Places
from local.ports import is_listening
from local.postgres import EmbeddedPostgres
from local.tether import tether

START_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 5.0


class Part(Protocol):
    """Something the supervisor starts, watches and stops."""

    name: str
    port: int

    def start(self) -> None:
        """Start and wait until ready; raises PartFailed."""

    def stop(self) -> None:
        """Stop and wait; harmless when not running."""

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""


class PythonPart:
    """A module of ours in a process of its own, ready when it listens."""

    def __init__(self, name: str, module: str, places: Places, port: int) -> None:
        self.name = name
        self.port = port
        self._module = module
        self._places = places
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the module and wait until it listens."""
        self._places.logs.mkdir(parents=True, exist_ok=True)
        log_path = self._places.logs / f"{self._module.rpartition('.')[2]}.log"
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*tether(), sys.executable, "-m", self._module],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not is_listening(self.port):
            if self.exit_code is not None or time.monotonic() > deadline:
                self.stop()
                raise PartFailed(f"{self.name} did not start", f"see {log_path}")
            time.sleep(0.03)

    def stop(self) -> None:
        """Stop the module; connections it still serves are cut after 5 s."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return self._process.pid if self._process else None

    @property
    def exit_code(self) -> int | None:
        """None while it runs, its exit code once it has died."""
        return self._process.poll() if self._process else 0


def build_parts(places: Places) -> list[Part]:
    """Return the parts in the order they start; they stop in the opposite one."""
    return [
        EmbeddedPostgres(places.state / "postgres", places.postgres, log=places.logs / "postgres.log"),
        PythonPart("token issuer", "local.issuer", places, places.issuer),
        Emulator(places),
        PythonPart("chat page", "local.server", places, places.chat),
    ]


def state_of(parts: list[Part], running: set[str]) -> list[dict[str, object]]:
    """Describe the parts for the status file: waiting, running or dead."""
    return [
        {"name": part.name, "port": part.port, "pid": part.pid, "state": _word(part, running)}
        for part in parts
    ]


def _word(part: Part, running: set[str]) -> str:
    if part.name not in running:
        return "waiting"
    return "running" if part.exit_code is None else "dead"

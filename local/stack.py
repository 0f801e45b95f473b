"""The whole stack as one thing: up, down, and how it is."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

from local.announcing import write_endpoints
from local.aws import Session
from local.deploy import deploy
from local.emulator import ensure_environment
from local.errors import LocalError, PartFailed
from local.files import read_json
from local.machine import find_cdk, require_node
from local.model import choose_model
from local.places import PORTS, ROOT, Places
from local.ports import require_free
from local.postgres import EmbeddedPostgres, reachable_home
from local.progress import Progress
from local.supervisor import find_supervisor, is_ours

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 45.0
PART_WORDS = ("postgres", "ministack", "local.issuer", "local.server")


@dataclass(frozen=True, slots=True)
class Stack:
    """The local stack that one state folder and one set of ports describe."""

    places: Places
    progress: Progress

    def up(self) -> bool:
        """Start what is not running and deploy what has changed; return whether anything had to be started.

        Raises:
            LocalError: something is missing, a port is taken or a part failed; the message says what to do.
        """
        require_node()
        find_cdk()
        self._prepare_emulator()
        started = self.start()
        server = EmbeddedPostgres(self.places.state / "postgres", self.places.postgres)
        model = choose_model(os.environ, Session(self.places))
        deploy(self.places, self.progress, owner_password=server.passwords.owner, model=model)
        write_endpoints(self.places)
        return started

    def down(self) -> bool:
        """Stop everything; return whether anything ran. State is kept."""
        pid = find_supervisor(self.places)
        self.places.endpoints.unlink(missing_ok=True)
        if pid is None:
            return self._end_orphans()
        with self.progress.step("stopping the stack"):
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + STOP_TIMEOUT_S
            while is_ours(pid, "local.supervisor"):
                if time.monotonic() > deadline:
                    os.kill(pid, signal.SIGKILL)
                    break
                time.sleep(0.05)
        self._end_orphans()
        return True

    def clean(self) -> None:
        """Stop everything and forget all state, the emulator's installation included."""
        self.down()
        for folder in (self.places.state, reachable_home(self.places.state / "postgres")):
            shutil.rmtree(folder, ignore_errors=True)

    def describe(self) -> dict[str, Any] | None:
        """Return the supervisor's last word on its parts; None if no stack runs here."""
        status = read_json(self.places.status)
        if not isinstance(status, dict):
            return None
        if find_supervisor(self.places) is None and status["state"] != "failed":
            return status | {"state": "failed", "failure": "the supervisor was killed"}
        return status

    def _prepare_emulator(self) -> None:
        if not (ROOT / ".local" / "emulator-env" / "installed").exists():
            with self.progress.step("installing the AWS emulator"):
                ensure_environment()

    def start(self) -> bool:
        """Start the parts unless they run; return whether they had to be started. Deploys nothing."""
        if find_supervisor(self.places) is not None:
            status = self._wait()
            if status["environment"] == self.places.to_env():
                self.progress.say("✓ running already")
                return False
            self.progress.say("the ports have changed: starting again")
            self.down()
        self._end_orphans()
        for name, (variable, _, what) in PORTS.items():
            require_free(getattr(self.places, name), what=what, variable=variable)
        with self.progress.step("starting PostgreSQL, the AWS emulator, the issuer and the chat page"):
            self._spawn()
            self._wait()
        return True

    def _spawn(self) -> None:
        self.places.logs.mkdir(parents=True, exist_ok=True)
        self.places.status.unlink(missing_ok=True)
        with (self.places.logs / "supervisor.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "local.supervisor"],
                cwd=ROOT,
                env=os.environ | self.places.to_env(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        # It outlives us; should it end first, somebody has to take its exit code.
        threading.Thread(target=process.wait, daemon=True).start()
        deadline = time.monotonic() + START_TIMEOUT_S
        while read_json(self.places.status) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                raise PartFailed("the supervisor did not start", f"see {self.places.logs / 'supervisor.log'}")
            time.sleep(0.03)

    def _wait(self) -> dict[str, Any]:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            status = self.describe() or {}
            if status.get("state") == "running":
                return status
            if status.get("state") == "failed":
                message, _, remedy = str(status["failure"]).partition("\n")
                raise PartFailed(message, remedy or f"see {self.places.logs}")
            time.sleep(0.05)
        raise LocalError("the stack did not start in two minutes", f"see {self.places.logs}")

    def _end_orphans(self) -> bool:
        """End parts whose supervisor was killed, where the kernel did not do it."""
        parts = (read_json(self.places.status) or {}).get("parts", [])
        orphans = [part["pid"] for part in parts if part["pid"] and _is_part(part["pid"])]
        for pid in orphans:
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while any(_is_part(pid) for pid in orphans) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.places.status.unlink(missing_ok=True)
        return bool(orphans)


def _is_part(pid: int) -> bool:
    return any(is_ours(pid, word) for word in PART_WORDS)

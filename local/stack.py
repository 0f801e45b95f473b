"""The whole stack as one thing: up, down, and how it is."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError

from local.announcing import write_endpoints
from local.aws import Session
from local.condition import Status, probe_status, read_status, to_error
from local.deploy import deploy
from local.emulator import Emulator, ensure_environment, save_state
from local.errors import LocalError, PartFailed
from local.files import read_json
from local.liveness import SUPERVISOR, is_ours
from local.locking import hold
from local.machine import find_cdk, require_node
from local.model import choose_model, read_model
from local.places import PORTS, ROOT, Places
from local.ports import require_free
from local.postgres import EmbeddedPostgres, reachable_home
from local.progress import Progress
from local.supervisor import WATCH_S, find_supervisor

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 75.0
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
        read_model(os.environ)
        with self._lock():
            self._prepare_emulator()
            started = self._start()
            try:
                self._deploy()
            except (BotoCoreError, PartFailed) as error:
                raise self._explain(error) from None
            return started

    def start(self) -> bool:
        """Start the parts unless they run; return whether they had to be started. Deploys nothing."""
        with self._lock():
            return self._start()

    def down(self) -> bool:
        """Stop everything; return whether anything ran. State is kept."""
        with self._lock():
            return self._stop()

    def clean(self) -> None:
        """Stop everything and forget all state, the emulator's installation included."""
        with self._lock():
            self._stop()
            for folder in (self.places.state, reachable_home(self.places.state / "postgres")):
                shutil.rmtree(folder, ignore_errors=True)

    def describe(self) -> Status | None:
        """Return how the parts are, each asked now; None if no stack runs here."""
        return probe_status(self.places)

    def _lock(self) -> AbstractContextManager[None]:
        return hold(self.places.lock, self.progress.say)

    def _deploy(self) -> None:
        server = EmbeddedPostgres(self.places.state / "postgres", self.places.postgres)
        model = choose_model(os.environ, Session(self.places))
        password = server.passwords.owner
        if deploy(self.places, self.progress, owner_password=password, model=model):
            self._save_emulator()
        write_endpoints(self.places)

    def _save_emulator(self) -> None:
        for part in (read_status(self.places) or {}).get("parts", []):
            if part["name"] == Emulator.name and part["pid"] and _is_part(part["pid"]):
                save_state(part["pid"])

    def _explain(self, error: BotoCoreError | PartFailed) -> PartFailed:
        """Return why a deployment failed: a part that died is the reason, whatever its caller says."""
        time.sleep(2 * WATCH_S)  # the supervisor has to look first
        status = self.describe()
        if status is not None and status["state"] == "failed":
            return to_error(status, self.places)
        if isinstance(error, PartFailed):
            return error
        return PartFailed(
            f"the AWS emulator does not answer ({error})", f"see {self.places.logs}, then make up"
        )

    def _stop(self) -> bool:
        pid = find_supervisor(self.places)
        self.places.endpoints.unlink(missing_ok=True)
        if pid is None:
            return self._end_orphans()
        with self.progress.step("stopping the stack"):
            os.kill(pid, signal.SIGTERM)
            self._wait_for_end(pid)
        self._end_orphans()
        return True

    def _wait_for_end(self, pid: int) -> None:
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while is_ours(pid, SUPERVISOR):
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.05)

    def _prepare_emulator(self) -> None:
        if not (ROOT / ".local" / "emulator-env" / "installed").exists():
            with self.progress.step("installing the AWS emulator"):
                ensure_environment()

    def _start(self) -> bool:
        if self._runs_already():
            self.progress.say("✓ running already")
            return False
        self._end_orphans()
        for name, (variable, _, what) in PORTS.items():
            require_free(getattr(self.places, name), what=what, variable=variable)
        with self.progress.step("starting PostgreSQL, the AWS emulator, the issuer and the chat page"):
            self._spawn()
            self._wait()
        return True

    def _runs_already(self) -> bool:
        """Say whether a sound stack runs on these ports; what else of ours runs is stopped first."""
        pid = find_supervisor(self.places)
        if pid is None:
            return False
        status = self._wait_while_starting()
        if status["state"] == "failed":
            failure = str(status["failure"]).partition("\n")[0]
            self.progress.say(f"starting again: {failure}")
        elif status["environment"] != self.places.to_env():
            self.progress.say("the ports have changed: starting again")
        else:
            return True
        self._stop()
        return False

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

    def _wait(self) -> None:
        status = self._wait_while_starting()
        if status["state"] == "failed":
            raise to_error(status, self.places)

    def _wait_while_starting(self) -> Status:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            status = read_status(self.places)
            if status is not None and status["state"] != "starting":
                return probe_status(self.places) or status
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

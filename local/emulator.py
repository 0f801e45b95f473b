"""The AWS emulator, MiniStack, in an environment of its own."""

import contextlib
import hashlib
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from local.certificate import ensure_certificate
from local.errors import PartFailed
from local.places import ACCOUNT, REGION, ROOT, Places
from local.tether import tether

PROGRAM = ROOT / "local" / "persistent_ministack.py"
HEALTH = "/_ministack/health"
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0


def ensure_environment(root: Path = ROOT) -> Path:
    """Install the emulator from its hashed requirements if that has not been done; return its `bin`.

    It pins its own botocore, so it never shares the application's environment.
    """
    requirements = root / "requirements" / "emulator.txt"
    environment = root / ".local" / "emulator-env"
    stamp = environment / "installed"
    wanted = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        uv = str(Path(sys.executable).parent / "uv")
        python = environment / "bin" / "python"
        _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(environment))
        _run(uv, "pip", "sync", "--quiet", "--require-hashes", "--python", str(python), str(requirements))
        stamp.write_text(wanted)
    return environment / "bin"


class Emulator:
    """One MiniStack process on a loopback port; its state survives a restart, and a crash to the minute."""

    name = "AWS emulator"

    def __init__(self, places: Places) -> None:
        self.port = places.emulator
        self._places = places
        self._process: subprocess.Popen[bytes] | None = None
        self.log = places.logs / "emulator.log"

    def start(self) -> None:
        """Start it and wait for its health endpoint.

        Raises:
            PartFailed: it died or did not answer within 30 s.
        """
        programs = ensure_environment()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*tether(), str(programs / "python"), "-P", str(PROGRAM)],
                env=self._environment(programs),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self._home,
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop it and the functions it runs; state is written first."""
        if self._process is None:
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_TIMEOUT_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # functions that outlived it
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

    @property
    def _home(self) -> Path:
        return self._places.state / "emulator"

    def _environment(self, programs: Path) -> dict[str, str]:
        """Return all that the emulator and the functions in it may see of ours: next to nothing."""
        scratch = self._home / "tmp"
        scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
        environment = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": str(self._home),
            "TMPDIR": str(scratch),
            "LANG": "C.UTF-8",
            "GATEWAY_PORT": str(self._places.emulator),
            "BIND_HOST": "127.0.0.1",
            "IOT_MTLS_ENABLED": "0",
            "PERSIST_STATE": "1",
            "STATE_DIR": str(self._home / "state"),
            "MINISTACK_REGION": REGION,
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
        }
        return environment | (self._enforcement() if self._places.enforce_iam else {})

    def _enforcement(self) -> dict[str, str]:
        certificate, key = ensure_certificate(self._places.certificate)
        return {
            "AUTH": "true",
            "USE_SSL": "1",
            "MINISTACK_SSL_CERT": str(certificate),
            "MINISTACK_SSL_KEY": str(key),
            "AWS_CA_BUNDLE": str(certificate),
        }

    def _wait(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not is_healthy(self._places):
            if self.exit_code is not None or time.monotonic() > deadline:
                raise PartFailed("the AWS emulator did not start", f"see {self.log}")
            time.sleep(0.05)


def save_state(pid: int) -> None:
    """Have a running emulator write all its state now, deployed code included; returns before it is done."""
    os.kill(pid, signal.SIGUSR1)


def is_healthy(places: Places) -> bool:
    """Say whether an emulator answers on the port."""
    trust = ssl.create_default_context(cafile=str(places.certificate)) if places.enforce_iam else None
    try:
        with urllib.request.urlopen(places.aws_url + HEALTH, timeout=2, context=trust) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PartFailed(f"`{Path(command[0]).name} {command[1]}` failed: {done.stderr.strip()}", "make env")

"""Where the local stack keeps things and listens, and how the environment overrides it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from local.errors import LocalError
from local.files import read_json
from local.liveness import find_reporter

ROOT = Path(__file__).resolve().parents[1]
STAGE = "local"
STATUS = "status.json"
STACK = f"Equerry-{STAGE}"
REGION = "us-east-1"
ACCOUNT = "000000000000"
PORTS = {
    "chat": ("EQUERRY_CHAT_PORT", 3307, "the chat page"),
    "issuer": ("EQUERRY_ISSUER_PORT", 3308, "the token issuer"),
    "emulator": ("EQUERRY_EMULATOR_PORT", 4566, "the AWS emulator"),
    "postgres": ("EQUERRY_POSTGRES_PORT", 54329, "PostgreSQL"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The state folder and the loopback ports of one local stack.

    `enforce_iam` runs the emulator with execution roles enforced, which needs TLS in front of it.
    """

    state: Path
    chat: int
    issuer: int
    emulator: int
    postgres: int
    enforce_iam: bool = False

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read EQUERRY_STATE_DIR, EQUERRY_ENFORCE_IAM and the four EQUERRY_*_PORT.

        What is not set is as the stack has it that runs from the state folder, and usual if none does.

        Raises:
            LocalError: a port is no number from 1 to 65535.
        """
        state = Path(environ.get("EQUERRY_STATE_DIR") or ROOT / ".local").absolute()
        said = {**_read_running(state), **{name: text for name, text in environ.items() if text}}
        ports = {name: _parse_port(said, variable, usual) for name, (variable, usual, _) in PORTS.items()}
        return cls(state=state, enforce_iam=said.get("EQUERRY_ENFORCE_IAM") == "true", **ports)

    def to_env(self) -> dict[str, str]:
        """Write what `from_env` reads."""
        ports = {variable: str(getattr(self, name)) for name, (variable, _, _) in PORTS.items()}
        iam = str(self.enforce_iam).lower()
        return {"EQUERRY_STATE_DIR": str(self.state), "EQUERRY_ENFORCE_IAM": iam, **ports}

    @property
    def scheme(self) -> str:
        """How the emulator is spoken to."""
        return "https" if self.enforce_iam else "http"

    @property
    def aws_url(self) -> str:
        """The emulator's address for an AWS SDK."""
        return f"{self.scheme}://127.0.0.1:{self.emulator}"

    @property
    def issuer_url(self) -> str:
        """The issuer's address, which is also its name in tokens."""
        return f"http://127.0.0.1:{self.issuer}"

    @property
    def chat_url(self) -> str:
        """The chat page's address."""
        return f"http://127.0.0.1:{self.chat}"

    @property
    def logs(self) -> Path:
        """The folder of every part's log."""
        return self.state / "logs"

    @property
    def endpoints(self) -> Path:
        """What a client of the stack needs to know, tokens included: private to its owner."""
        return self.state / "endpoints.json"

    @property
    def outputs(self) -> Path:
        """The stack's outputs, as the CDK command line wrote them."""
        return self.state / "outputs.json"

    @property
    def status(self) -> Path:
        """What the supervisor last said about its parts."""
        return self.state / STATUS

    @property
    def lock(self) -> Path:
        """Held by whoever starts or stops the stack."""
        return self.state / "lock"

    @property
    def certificate(self) -> Path:
        """The emulator's self-signed certificate, present when it speaks TLS."""
        return self.state / "emulator" / "certificate.pem"


def _read_running(state: Path) -> dict[str, str]:
    """Return what the stack that runs from a state folder was started with; nothing if none runs."""
    status = read_json(state / STATUS)
    return {} if find_reporter(status) is None else dict(status.get("environment", {}))


def _parse_port(environ: Mapping[str, str], variable: str, usual: int) -> int:
    text = environ.get(variable) or str(usual)
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise LocalError(
            f"{variable} must be a port number from 1 to 65535, got {text!r}", f"unset {variable}"
        )
    return int(text)

"""What has to be on the machine before anything starts."""

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from local.errors import MissingTool
from local.places import ROOT

NODE_LEAST = (20, 0)
GET_NODE = "install Node 20 or newer (https://nodejs.org, or your system's package `nodejs`)"


def require_node() -> int:
    """Return Node's major version.

    Raises:
        MissingTool: Node or npm is absent or too old, or the command-line tools are not installed yet.
    """
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise MissingTool(f"{program} is not on this machine's PATH", GET_NODE)
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    if found is None:
        raise MissingTool(f"`node --version` answered {said.strip()!r}", GET_NODE)
    version = (int(found[1]), int(found[2]))
    if version < NODE_LEAST:
        raise MissingTool(f"Equerry needs Node 20 or newer; this is {said.strip()}", GET_NODE)
    return version[0]


def find_cdk(root: Path = ROOT) -> Path:
    """Return the pinned CDK command line; raises MissingTool if `npm ci` has not been run."""
    program = root / "node_modules" / ".bin" / "cdk"
    if not program.exists():
        raise MissingTool("the CDK command line is not installed", "make env")
    return program


def find_architecture() -> str:
    """Return this machine's processor in Lambda's words."""
    return "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"


def find_python() -> str:
    """Return this interpreter's version, which is the emulator's too, as `3.11`."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"

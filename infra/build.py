"""Which version of the code is being deployed."""

import os
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from infra.config import StageConfig

_PROJECT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What /version answers."""

    version: str
    commit: str


def build_of(config: StageConfig) -> Build:
    """The layer's version, and the commit: EQUERRY_COMMIT, git's or `unknown`; `working-tree` locally."""
    declared = tomllib.loads((_PROJECT / "layers/shared/pyproject.toml").read_text(encoding="utf-8"))
    commit = "working-tree" if config.local else os.environ.get("EQUERRY_COMMIT") or _commit()
    return Build(version=declared["project"]["version"], commit=commit)


def _commit() -> str:
    try:
        asked = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"],
            cwd=_PROJECT,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:  # no git on this machine
        return "unknown"
    return asked.stdout.strip() or "unknown"

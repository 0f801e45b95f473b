"""Compiles layers ahead of time: without .pyc files `import anthropic` alone costs a cold start seconds."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path


class NoInterpreter(Exception):
    """No Python of the functions' version is on this machine."""


def compile_tree(directory: Path, *, python: str) -> None:
    """Write .pyc files that stay valid whatever the files' times.

    Raises:
        NoInterpreter: this machine has no Python `python`.
    """
    subprocess.run(
        [
            find_interpreter(python),
            "-m",
            "compileall",
            "-q",
            "-j",
            "0",
            "--invalidation-mode",
            "unchecked-hash",
            ".",
        ],
        cwd=directory,
        check=False,  # packages ship a few files that are templates, not programs
        stdout=subprocess.DEVNULL,
    )


@cache
def find_interpreter(python: str) -> str:
    """A Python of exactly this minor version: EQUERRY_LAYER_PYTHON, this one, PATH, pyenv, uv.

    Raises:
        NoInterpreter: none of them is that version.
    """
    for candidate in _candidates(python):
        if _version_of(candidate) == python:
            return candidate
    raise NoInterpreter(
        f"compiling the layers needs a Python {python}, and none was found on PATH, in ~/.pyenv or by uv. "
        f"Install one (for example `uv python install {python}`), name one with "
        f"EQUERRY_LAYER_PYTHON=/path/to/python{python}, or set allow_uncompiled_layers = true in "
        "[runtime] and accept cold starts that are seconds longer."
    )


def _candidates(python: str) -> Iterator[str]:
    yield os.environ.get("EQUERRY_LAYER_PYTHON", "")
    yield sys.executable
    yield shutil.which(f"python{python}") or ""
    for home in sorted(Path.home().glob(f".pyenv/versions/{python}.*/bin/python"), reverse=True):
        yield str(home)
    yield _from_uv(python)


def _from_uv(python: str) -> str:
    uv = Path(sys.executable).parent / "uv"
    if not uv.exists():
        return ""
    found = subprocess.run(
        [uv, "python", "find", "--no-project", "--no-python-downloads", python],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip()


def _version_of(executable: str) -> str:
    if not executable:
        return ""
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        return subprocess.run(
            [executable, "-c", asked], capture_output=True, text=True, check=False
        ).stdout.strip()
    except OSError:
        return ""

"""Builds layer content on this machine, for the functions' processor, without Docker."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import jsii
from aws_cdk import BundlingOptions, ILocalBundling

from infra.compiling import compile_tree
from infra.target import WheelTarget

CACHE = Path(__file__).parents[1] / ".local" / "wheels"


@jsii.implements(ILocalBundling)
class WheelBundling:
    """Installs hashed requirements as wheels under `python/`, and keeps the result for the next synth."""

    def __init__(self, requirements: Path, target: WheelTarget, *, cache: Path = CACHE) -> None:
        self._requirements = requirements
        self._target = target
        self._cache = cache

    # The published signature says keyword arguments; jsii passes these two by position.
    def try_bundle(self, output_dir: str, _options: BundlingOptions) -> bool:
        """Fill `output_dir`. Never returns False: CDK would then start Docker."""
        kept = self._cache / self._key()
        if not kept.is_dir():
            self._build(kept)
        shutil.copytree(kept, output_dir, dirs_exist_ok=True, copy_function=_linked)
        return True

    def _key(self) -> str:
        unneeded = _unneeded_file(self._requirements)
        parts = (self._requirements.read_bytes(), "\n".join(self._target.fingerprint()).encode(), unneeded)
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]

    def _build(self, kept: Path) -> None:
        building = kept.with_name(f"{kept.name}.{os.getpid()}")
        shutil.rmtree(building, ignore_errors=True)
        python = building / "python"
        subprocess.run(
            [
                *(
                    sys.executable,
                    "-m",
                    "uv",
                    "pip",
                    "install",
                    "--quiet",
                    "--no-deps",
                    "--link-mode",
                    "copy",
                ),
                *("--python", sys.executable, "--target", str(python), *self._target.flags()),
                *("--requirement", str(self._requirements)),
            ],
            check=True,
        )
        remove_unneeded(python, patterns=_unneeded_file(self._requirements).decode().split())
        if self._target.compiled:
            compile_tree(python, python=self._target.python)
        python.mkdir(parents=True, exist_ok=True)  # nothing to install is no error
        building.rename(kept)


@jsii.implements(ILocalBundling)
class SourceBundling:
    """Copies a source tree under `python/` and compiles it."""

    def __init__(self, source: Path, target: WheelTarget) -> None:
        self._source = source
        self._target = target

    def try_bundle(self, output_dir: str, _options: BundlingOptions) -> bool:
        """Fill `output_dir`. Never returns False: CDK would then start Docker."""
        python = Path(output_dir) / "python"
        shutil.copytree(self._source, python, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        if self._target.compiled:
            compile_tree(python, python=self._target.python)
        return True


def remove_unneeded(directory: Path, *, patterns: Iterable[str]) -> None:
    """Delete what no function imports; `patterns` are globs below `directory`."""
    for pattern in patterns:
        for found in list(directory.glob(pattern)):
            if found.is_dir():
                shutil.rmtree(found)
            else:
                found.unlink(missing_ok=True)


def _unneeded_file(requirements: Path) -> bytes:
    path = requirements.with_name("unneeded.txt")
    return path.read_bytes() if path.exists() else b""


def _linked(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
    return target

"""Where code will run: the one place that knows the interpreter and processor of functions and wheels."""

import platform
import sys
from dataclasses import dataclass
from typing import Any, cast

from aws_cdk import aws_lambda as lambda_

from infra.config import StageConfig

_WHEEL_PLATFORMS = {"arm64": "aarch64-manylinux_2_28", "x86_64": "x86_64-manylinux_2_28"}
_MACHINES = {"aarch64": "arm64", "arm64": "arm64", "x86_64": "x86_64", "amd64": "x86_64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelTarget:
    """What binary wheels must match; `wheel_platform` None means this machine."""

    python: str
    wheel_platform: str | None
    compiled: bool

    def flags(self) -> list[str]:
        """The installer's flags; also part of each layer's hash, which does not see how a layer is built."""
        chosen = ["--python-platform", self.wheel_platform] if self.wheel_platform else []
        return [*chosen, "--python-version", self.python, "--only-binary", ":all:", "--require-hashes"]

    def fingerprint(self) -> list[str]:
        """Everything about the target that changes a layer's content."""
        machine = [] if self.wheel_platform else [sys.platform, platform.machine()]
        return [*self.flags(), *machine, "compiled" if self.compiled else "source"]


def runtime_of(config: StageConfig) -> lambda_.Runtime:
    """The declared Lambda runtime."""
    return cast(
        "lambda_.Runtime", getattr(lambda_.Runtime, f"PYTHON_{config.runtime.python.replace('.', '_')}")
    )


def architecture_of(config: StageConfig) -> lambda_.Architecture:
    """The declared Lambda architecture."""
    known: dict[str, Any] = {"arm64": lambda_.Architecture.ARM_64, "x86_64": lambda_.Architecture.X86_64}
    return cast("lambda_.Architecture", known[config.runtime.architecture])


def wheel_target(config: StageConfig) -> WheelTarget:
    """The declared target, or this machine where the emulator runs functions on its own interpreter."""
    if config.local:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        return WheelTarget(python=here, wheel_platform=None, compiled=True)
    return WheelTarget(
        python=config.runtime.python,
        wheel_platform=_WHEEL_PLATFORMS[config.runtime.architecture],
        compiled=not config.runtime.allow_uncompiled_layers,
    )

"""The layers, and which function carries which."""

from pathlib import Path
from typing import cast

from aws_cdk import BundlingOptions, DockerImage, IgnoreMode, ILocalBundling, RemovalPolicy
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.config import StageConfig
from infra.target import WheelTarget, architecture_of, runtime_of, wheel_target
from infra.wheels import SourceBundling, WheelBundling

_PROJECT = Path(__file__).parents[1]
_LAYERS = _PROJECT / "layers"


class Layers(Construct):
    """Wheels by what needs them, our own package, and the data that ships with it."""

    def __init__(self, scope: Construct, id: str, *, config: StageConfig) -> None:
        super().__init__(scope, id)
        self._config = config
        self._target = wheel_target(config)
        self.dependencies = self._layer("Dependencies", self._wheels("dependencies"))
        self.embedding = self._layer("Embedding", self._wheels("embedding"))
        self.ingestion = self._layer("Ingestion", self._wheels("ingestion"))
        self.shared = self._layer("Shared", self._shared())
        self.data = self._layer("Data", _data())
        self.base = (self.dependencies, self.shared, self.data)

    def _layer(self, id: str, code: lambda_.Code) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            id,
            code=code,
            compatible_runtimes=[runtime_of(self._config)],
            compatible_architectures=[architecture_of(self._config)],
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _wheels(self, name: str) -> lambda_.Code:
        folder = _LAYERS / name
        bundling = WheelBundling(folder / "requirements.txt", self._target)
        return lambda_.Code.from_asset(str(folder), exclude=["*.in"], bundling=_local(bundling, self._target))

    def _shared(self) -> lambda_.Code:
        bundling = SourceBundling(_LAYERS / "shared" / "python", self._target)
        return lambda_.Code.from_asset(
            str(_LAYERS / "shared"),
            ignore_mode=IgnoreMode.GIT,
            exclude=["/*", "!/python", "__pycache__", "*.pyc", "*.egg-info"],
            bundling=_local(bundling, self._target),
        )


def _data() -> lambda_.Code:
    return lambda_.Code.from_asset(
        str(_PROJECT), ignore_mode=IgnoreMode.GIT, exclude=["/*", "!/profiles", "!/migrations", "__pycache__"]
    )


def _local(bundling: WheelBundling | SourceBundling, target: WheelTarget) -> BundlingOptions:
    return BundlingOptions(
        image=DockerImage.from_registry("docker-is-never-used"),
        command=target.fingerprint(),  # never run, but part of the asset's hash
        local=cast(
            "ILocalBundling", bundling
        ),  # the published type has keyword arguments, jsii passes positions
    )

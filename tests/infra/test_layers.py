"""Layers match the processor they are declared for, say so in their hash, and fit into Lambda."""

import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from aws_cdk import BundlingOptions

from infra import sizes
from infra.compiling import NoInterpreter, find_interpreter
from infra.loading import load
from infra.target import WheelTarget, wheel_target
from infra.wheels import SourceBundling, WheelBundling, remove_unneeded
from tests.infra.stages import SynthesisedStage, as_list

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
NO_OPTIONS = cast("BundlingOptions", None)


def target(**changes: object) -> WheelTarget:
    """Wheels for Lambda's arm64 and Python 3.13, changed."""
    plain = {"python": "3.13", "wheel_platform": "aarch64-manylinux_2_28", "compiled": True}
    return WheelTarget(**(plain | changes))  # type: ignore[arg-type]  # changes are spelled out in each test


def test_whatever_changes_the_wheels_changes_the_layers_hash() -> None:
    prints = [
        target().fingerprint(),
        target(wheel_platform="x86_64-manylinux_2_28").fingerprint(),
        target(wheel_platform=None).fingerprint(),
        target(python="3.14").fingerprint(),
        target(compiled=False).fingerprint(),
    ]

    assert len({tuple(each) for each in prints}) == len(prints)


def test_production_wheels_are_for_the_declared_processor() -> None:
    production = wheel_target(load({"stage": "production"}.get))

    assert production == target()


def test_local_wheels_are_for_this_machine() -> None:
    local = wheel_target(load({"stage": "local"}.get))

    assert (local.python, local.wheel_platform) == (HERE, None)


def test_only_hashed_wheels_are_installed() -> None:
    flags = target().flags()

    assert {"--only-binary", ":all:", "--require-hashes"} <= set(flags)


def test_requirements_with_a_wrong_hash_are_refused(tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("six==1.17.0 --hash=sha256:" + "0" * 64 + "\n")

    with pytest.raises(subprocess.CalledProcessError):
        WheelBundling(requirements, target(python=HERE), cache=tmp_path / "cache").try_bundle(
            str(tmp_path / "out"), NO_OPTIONS
        )


def test_a_built_layer_is_kept_for_the_next_synth(tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("")
    bundling = WheelBundling(requirements, target(python=HERE, compiled=False), cache=tmp_path / "cache")
    bundling.try_bundle(str(tmp_path / "first"), NO_OPTIONS)
    (kept,) = (tmp_path / "cache").iterdir()
    (kept / "python").mkdir(exist_ok=True)
    (kept / "python" / "mark.py").write_text("")

    bundling.try_bundle(str(tmp_path / "second"), NO_OPTIONS)

    assert (tmp_path / "second" / "python" / "mark.py").exists()


def test_our_own_code_is_compiled_and_never_brings_stale_bytecode(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "__pycache__").mkdir(parents=True)
    (source / "answer.py").write_text("ANSWER = 42\n")
    (source / "__pycache__" / "gone.cpython-311.pyc").write_bytes(b"")

    SourceBundling(source, target(python=HERE)).try_bundle(str(tmp_path / "out"), NO_OPTIONS)

    compiled = [path.name for path in (tmp_path / "out").rglob("*.pyc")]
    assert compiled == [f"answer.{sys.implementation.cache_tag}.pyc"]


def test_a_missing_interpreter_is_refused_with_what_to_do() -> None:
    with pytest.raises(NoInterpreter, match=r"uv python install 3\.4.*allow_uncompiled_layers"):
        find_interpreter("3.4")


def test_what_no_function_imports_is_removed(tmp_path: Path) -> None:
    for name in ("numpy/core.py", "numpy/tests/test_core.py", "numpy/core.pyi", "bin/tool"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    remove_unneeded(tmp_path, patterns=["**/tests", "**/*.pyi", "bin"])

    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == [
        "numpy/core.py"
    ]


def test_a_function_that_lambda_would_refuse_is_refused_at_synth(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as big:
        big.truncate(sizes.LIMIT_BYTES + 1)
    (tmp_path / "asset").mkdir()
    (tmp_path / "big").rename(tmp_path / "asset" / "big")
    template = {
        "Resources": {
            "Layer": {"Type": "AWS::Lambda::LayerVersion", "Metadata": {"aws:asset:path": "asset"}},
            "Function": {"Type": "AWS::Lambda::Function", "Properties": {"Layers": [{"Ref": "Layer"}]}},
        }
    }
    (tmp_path / "Stack.template.json").write_text(json.dumps(template))

    with pytest.raises(sizes.FunctionTooLarge, match=r"Function is 250\.0 MB unzipped, Lambda allows 250"):
        sizes.check(str(tmp_path))


def test_only_functions_that_embed_carry_the_model(stage: SynthesisedStage) -> None:
    embedding = next(name for name in stage.of_type("AWS::Lambda::LayerVersion") if "Embedding" in name)
    carriers = {
        handler
        for handler, function in stage.functions().items()
        if {"Ref": embedding} in as_list(function["Layers"])
    }

    assert carriers == {"worker.handler.handle", "indexer.handler.handle"}

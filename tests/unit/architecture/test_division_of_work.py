"""Which layer does which work."""

import os
import subprocess
import sys

import pytest

from local.places import PORTS, ROOT
from tests.unit.architecture.source import classes_of, list_identifiers, list_imports, modules_of

OUTSIDE_WORLD = {"socket", "os", "pathlib", "subprocess", "urllib", "http", "ssl", "io", "shutil", "tempfile"}
PURE = ("kernel", "engine", "channel", "domain")
ONE_TURN = """
import sys
for vendor in ("boto3", "botocore", "psycopg", "psycopg_pool", "anthropic", "jwt", "aws_lambda_powertools"):
    sys.modules[vendor] = None  # an import of it fails
from tests.unit.services.world import World
world = World()
accepted = world.submit(world.open_conversation())
assert world.deliver(accepted) == "answered"
assert world.types(accepted.run_id)[-1] == "done"
"""


@pytest.mark.parametrize("layer", PURE)
def test_the_inner_layers_touch_nothing_outside_the_process(layer: str) -> None:
    imported = {
        name
        for module in modules_of(layer)
        for name in list_imports(module.tree)
        if name.partition(".")[0] in OUTSIDE_WORLD
    }
    called = {name for module in modules_of(layer) for name in list_identifiers(module.tree)} & {
        "open",
        "print",
    }

    assert imported | called == set()


@pytest.mark.req("F-LAYER-09")
def test_services_bring_domain_and_engine_together() -> None:
    names = {cls.name for cls in classes_of("services")}
    imports = {name for module in modules_of("services") for name in list_imports(module.tree)}

    assert {"TurnService", "RetrievalService", "IndexingService"} <= names
    for layer in ("domain", "engine", "ports"):
        assert any(name.startswith(f"equerry.{layer}.") for name in imports)


@pytest.mark.req("F-LAYER-10")
@pytest.mark.parametrize("layer", ["surfaces", "admin", "evaluation"])
def test_the_outer_layers_only_deliver_show_and_measure(layer: str) -> None:
    """They run no loop, hold no adapter and define no use case of their own."""
    imports = {name for module in modules_of(layer) for name in list_imports(module.tree)}
    kinds = [
        cls.name for cls in classes_of(layer) if cls.name.endswith(("Service", "Adapter", "Port", "Tool"))
    ]

    assert kinds == []
    assert not any(
        name.startswith(("equerry.engine.run_loop", "equerry.adapters", "equerry.runtime"))
        for name in imports
    )


@pytest.mark.req("F-ARCH-07")
def test_a_turn_runs_with_every_managed_component_absent() -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", ONE_TURN],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.req("A-SVC-03")
def test_the_local_server_listens_where_it_always_did() -> None:
    assert PORTS["chat"][1] == 3307

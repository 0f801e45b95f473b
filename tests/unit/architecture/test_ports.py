"""Every port has a fake and an adapter, and one contract suite that runs over both."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from local.places import ROOT
from tests.unit.architecture.source import (
    Class,
    classes_of,
    list_classes,
    list_identifiers,
    list_imports,
    read_module,
)

PORTS = {cls.name: cls for cls in classes_of("ports") if cls.is_protocol}
FAKES = ("Memory", "Scripted", "Fixture")


@cache
def list_fakes() -> tuple[Class, ...]:
    """Return the fakes of the tests, and the fixture model, which ships because a stage can choose it."""
    modules = [
        read_module(path, ROOT / "tests/fakes") for path in sorted((ROOT / "tests/fakes").glob("*.py"))
    ]
    found = [cls for module in modules for cls in list_classes(module)]
    return (*found, *(cls for cls in classes_of("adapters") if cls.name.startswith("Fixture")))


@cache
def list_suites() -> tuple[frozenset[str], ...]:
    """Return the names each contract suite uses, its helpers in `models` and beside it included."""
    folder = ROOT / "tests/contract"
    return tuple(read_suite(path) for path in sorted(folder.glob("test_*.py")))


def read_suite(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    helpers = [
        ROOT / f"{name.replace('.', '/')}.py" for name in list_imports(tree) if name.startswith("tests.")
    ]
    # A package that is imported from has no file of its own.
    beside = [path.parent / "conftest.py", *(helper for helper in helpers if helper.is_file())]
    return list_identifiers(tree).union(
        *(list_identifiers(ast.parse(p.read_text(encoding="utf-8"))) for p in beside)
    )


def list_promises(port: Class) -> set[str]:
    return {method.name for method in port.methods}


def list_offers(cls: Class) -> set[str]:
    """Return what a class has: methods, fields, and attributes its constructor sets."""
    declared = (node for node in cls.node.body if isinstance(node, ast.AnnAssign | ast.Assign))
    targets = (node.targets if isinstance(node, ast.Assign) else [node.target] for node in declared)
    fields = {ast.unparse(target) for each in targets for target in each}
    attributes = {
        node.attr
        for node in ast.walk(cls.node)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return {method.name for method in cls.methods} | fields | attributes


def find_serving(port: Class, classes: Iterable[Class]) -> Iterator[Class]:
    """Yield the classes named for the port that offer all it promises."""
    need = port.name.removesuffix("Port")
    named = (cls for cls in classes if cls.name.endswith(f"{need}Adapter"))
    return (cls for cls in named if list_promises(port) <= list_offers(cls))


@pytest.mark.req("F-LAYER-13")
@pytest.mark.parametrize("port", PORTS)
def test_a_port_has_a_fake_and_an_adapter_under_one_suite(port: str) -> None:
    fakes = {cls.name for cls in find_serving(PORTS[port], list_fakes())}
    adapters = {cls.name for cls in find_serving(PORTS[port], classes_of("adapters"))} - fakes

    assert fakes, f"no fake keeps {port}"
    assert adapters, f"no adapter keeps {port}"
    assert any(fakes & suite and adapters & suite for suite in list_suites()), (
        f"no suite runs over both: {fakes}, {adapters}"
    )


@pytest.mark.req("F-LAYER-13")
def test_an_adapter_that_lacks_a_promise_does_not_count() -> None:
    source = "class MemoryLeaseAdapter:\n    def acquire(self): ...\n    def release(self): ..."
    (node,) = ast.parse(source).body

    assert isinstance(node, ast.ClassDef)
    assert not list(find_serving(PORTS["LeasePort"], [Class(PORTS["LeasePort"].module, node)]))


def test_a_fake_says_that_it_is_one() -> None:
    adapters = [cls.name for cls in list_fakes() if cls.name.endswith("Adapter")]

    assert [name for name in adapters if not name.startswith(FAKES)] == []

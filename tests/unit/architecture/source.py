"""The layer's source as syntax trees, for the checks beside this file."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from local.places import ROOT

PACKAGE = ROOT / "layers/shared/python/equerry"
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Module:
    """One file; `name` is dotted, `layer` the package right below `equerry` (blank for the root)."""

    path: Path
    name: str
    layer: str
    tree: ast.Module


@dataclass(frozen=True, slots=True)
class Class:
    """A class at the top of a module."""

    module: Module
    node: ast.ClassDef

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def bases(self) -> frozenset[str]:
        return frozenset(ast.unparse(base).partition("[")[0] for base in self.node.bases)

    @property
    def is_protocol(self) -> bool:
        return "Protocol" in self.bases

    @property
    def marks(self) -> tuple[str, ...]:
        """The names of its decorators, calls or not."""
        return tuple(ast.unparse(mark).partition("(")[0] for mark in self.node.decorator_list)

    @property
    def methods(self) -> tuple[FunctionNode, ...]:
        return tuple(node for node in self.node.body if isinstance(node, FunctionNode))


def read_module(path: Path, root: Path = PACKAGE) -> Module:
    parts = path.relative_to(root.parent).with_suffix("").parts
    names = parts[:-1] if parts[-1] == "__init__" else parts
    layer = names[1] if len(names) > 1 else ""
    return Module(path, ".".join(names), layer, ast.parse(path.read_text(encoding="utf-8")))


@cache
def list_modules() -> tuple[Module, ...]:
    return tuple(read_module(path) for path in sorted(PACKAGE.rglob("*.py")))


def list_layers() -> frozenset[str]:
    return frozenset(module.layer for module in list_modules()) - {""}


def modules_of(*layers: str) -> tuple[Module, ...]:
    assert list_layers().issuperset(layers)
    return tuple(module for module in list_modules() if module.layer in layers)


def classes_of(*layers: str) -> tuple[Class, ...]:
    """Return the public classes of these layers."""
    modules = modules_of(*layers)
    return tuple(found for module in modules for found in list_classes(module) if found.name[0] != "_")


def list_classes(module: Module) -> Iterator[Class]:
    return (Class(module, node) for node in module.tree.body if isinstance(node, ast.ClassDef))


def list_public_functions(module: Module) -> Iterator[tuple[str, FunctionNode]]:
    """Yield what others may call: functions, and methods of public classes, under their qualified names."""
    for node in module.tree.body:
        if isinstance(node, FunctionNode) and node.name[0] != "_":
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and node.name[0] != "_":
            yield from ((f"{node.name}.{n.name}", n) for n in Class(module, node).methods if n.name[0] != "_")


def list_imports(tree: ast.AST) -> frozenset[str]:
    """Return the dotted names of all modules that are imported anywhere in the tree."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return frozenset(found)


def list_identifiers(tree: ast.AST) -> frozenset[str]:
    """Return every name that code gives or uses; strings and comments are prose and do not count."""
    found: set[str] = set()
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname"):
            text = getattr(node, field, None)
            if isinstance(text, str):
                found.update(text.split("."))
        if isinstance(node, ast.ImportFrom) and node.module:
            found.update(node.module.split("."))
    return frozenset(found)


def split_words(name: str) -> tuple[str, ...]:
    """Return a name's words in lower case: `DynamoLeases` and `dynamo_leases` alike."""
    return tuple(word.lower() for word in WORD.findall(name))

"""What the documents name exists, as they name it."""

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from local.codegen.signatures import write_signature, write_signatures
from local.places import ROOT
from tests.unit.architecture.documents import (
    ANCHOR,
    CODE,
    DOCS,
    LINK,
    list_anchors,
    list_documents,
    read_document,
    read_names,
    read_section,
    read_table,
)
from tests.unit.architecture.source import PACKAGE, FunctionNode, list_public_functions, read_module

SIGNATURE = re.compile(r"^\| `([\w.]+\(.*)` \| `([\w/]+\.py)` \|$", re.MULTILINE)
A_PATH = re.compile(r"^(?:\.{0,2}/)?[\w.-]+(?:/[\w.*{}-]+)*/?$")
PLACEHOLDER = re.compile(r"\b(NAME|PATH|FOLDER)\b")
OURS = (
    "app.py",
    "bench",
    "client",
    "docs",
    "equerry",
    "functions",
    "infra",
    "layers",
    "local",
    "migrations",
    "profiles",
    "requirements",
    "tests",
)
INTEGRATOR_FACING = {
    "Entry points",
    "Profile registry",
    "Tool contract and registry",
    "Envelopes and publisher",
    "Client core",
}


@cache
def functions_of(path: Path) -> Mapping[str, FunctionNode]:
    return dict(list_public_functions(read_module(path)))


def find_faults(text: str) -> list[str]:
    """Return the documented signatures that the source does not have, each with what it has."""
    faults = []
    for written, file in SIGNATURE.findall(text):
        path, name = PACKAGE.parent / file, written.partition("(")[0]
        found = functions_of(path).get(name) if path.is_file() else None
        has = write_signature(name, found) if found else "nothing of that name"
        if has != written:
            faults.append(f"{file}: {written}, but it has {has}")
    return faults


@pytest.mark.req("F-NAME-02", "F-ARCH-10")
def test_every_documented_signature_is_the_source_s() -> None:
    text = read_document("signatures.md")

    assert len(SIGNATURE.findall(text)) >= 20
    assert find_faults(text) == []


def test_every_public_service_is_documented() -> None:
    assert read_document("signatures.md") == write_signatures()


@pytest.mark.req("F-NAME-02")
@pytest.mark.parametrize(
    "planted",
    [
        "| `TurnService.vanish(scope: Scope)` | `equerry/services/turns.py` |",
        "| `TurnService.cancel(scope: Scope, run_id: RunId) -> Run` | `equerry/services/nowhere.py` |",
        "| `TurnService.cancel(scope: Scope, run_id?: RunId) -> Run` | `equerry/services/turns.py` |",
        "| `TurnService.cancel(scope: Scope, run_id: RunId) -> text` | `equerry/services/turns.py` |",
    ],
)
def test_a_planted_signature_that_is_not_the_source_s_is_found(planted: str) -> None:
    assert len(find_faults(planted)) == 1


@pytest.mark.req("F-ARCH-10")
@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("def f(self, a: str, b: int = 1) -> bool: ...", "f(a: text, b?: number) -> yes/no"),
        ("def f(self, *, a: Scope | None = None) -> None: ...", "f(a?: Scope?)"),
        ("def f(self, a: Sequence[str]) -> tuple[Run, ...]: ...", "f(a: text[]) -> Run[]"),
        ("def f(self) -> tuple[tuple[Passage, float], ...]: ...", "f() -> (Passage, number)[]"),
        ("def f(self) -> Mapping[str, object]: ...", "f() -> data by text"),
    ],
)
def test_signatures_are_written_in_conceptual_types(source: str, written: str) -> None:
    (method,) = ast.parse(source).body

    assert isinstance(method, ast.FunctionDef)
    assert write_signature("f", method) == written


@pytest.mark.parametrize("document", [ROOT / "README.md", *list_documents()], ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")

    assert [link for link in LINK.findall(text) if not (document.parent / link).exists()] == []
    places = [(document.parent / file if file else document, place) for file, place in ANCHOR.findall(text)]
    assert [place for file, place in places if file.suffix == ".md" and place not in list_anchors(file)] == []


@pytest.mark.parametrize("document", [ROOT / "README.md", *list_documents()], ids=lambda path: path.name)
def test_every_path_of_ours_that_is_named_exists(document: Path) -> None:
    named = [name for name in CODE.findall(document.read_text(encoding="utf-8")) if A_PATH.match(name)]
    real = [name for name in named if not PLACEHOLDER.search(name)]
    ours = [name for name in real if name.split("/")[0] in OURS and ("/" in name or name == "app.py")]

    assert [name for name in ours if not exists(name)] == []


def exists(name: str) -> bool:
    """Tell whether a path is there; `equerry/…` is short for its place in the shared layer."""
    root = PACKAGE.parent if name.startswith("equerry/") else ROOT
    return any(root.glob(name.rstrip("/"))) if "*" in name else (root / name).exists()


@pytest.mark.req("F-ARCH-01")
def test_nine_components_exist_five_of_them_for_integrators() -> None:
    rows = read_table("architecture.md", "Components")

    assert len(rows) == 9
    assert {row["Component"] for row in rows if row["For"] == "integrators"} == INTEGRATOR_FACING
    for row in rows:
        assert all(exists(path) for path in read_names(row["Where"])), row["Component"]


@pytest.mark.req("F-NAME-07")
def test_five_reading_routes_are_published() -> None:
    routes = re.findall(
        r"^\d\. \*\*(.+?)\*\*(.+?)(?=^\d\. |\Z)",
        read_section("README.md", "Five routes"),
        re.MULTILINE | re.DOTALL,
    )

    assert len(routes) == 5
    for decision, way in routes:
        links = LINK.findall(way)
        assert len(links) >= 2, decision
        assert all((DOCS / link).exists() for link in links)


@pytest.mark.req("F-NAME-05")
def test_every_term_is_mapped_to_what_it_is_called_elsewhere() -> None:
    terms = {read_names(row["Term"])[0] for row in read_table("architecture.md", "Glossary")}
    mapped = {
        name: row["Elsewhere"]
        for row in read_table("names.md", "Vocabulary")
        for name in read_names(row["Term"])
    }

    assert terms <= set(mapped)
    assert all(mapped.values())

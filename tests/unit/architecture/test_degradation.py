"""The page of what still works, held against the parts, the tests and the events that there are."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest

from local.places import ROOT

PARTS = {"model", "semantic index", "lexical index", "datastore", "queue", "channel", "tools"}
PAGE = ROOT / "docs" / "degradation.md"
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Rung:
    """One row of the page."""

    part: str
    loss: str
    events: tuple[str, ...]
    tests: tuple[str, ...]


def read_rungs(page: str) -> Iterator[Rung]:
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 6 and cells[0] != "Part":
            part, loss, _then, _told, events, tests = cells
            yield Rung(part, loss, tuple(_CODE.findall(events)), tuple(_CODE.findall(tests)))


RUNGS = tuple(read_rungs(PAGE.read_text(encoding="utf-8")))


@cache
def list_tests() -> list[str]:
    """Every test's name, as often as there is one."""
    modules = (ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("test_*.py"))
    functions = (node for module in modules for node in module.body if isinstance(node, ast.FunctionDef))
    return [each.name for each in functions if each.name.startswith("test_")]


@cache
def read_source() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "layers" / "shared").rglob("*.py"))


@pytest.mark.req("F-DEGR-01")
def test_every_part_has_a_ladder() -> None:
    assert {rung.part for rung in RUNGS} == PARTS


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: f"{rung.part}: {rung.loss}")
@pytest.mark.req("F-DEGR-01", "F-DEGR-02")
def test_every_rung_is_shown_by_tests_that_there_are(rung: Rung) -> None:
    assert rung.tests
    assert [name for name in rung.tests if list_tests().count(name) != 1] == []


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: f"{rung.part}: {rung.loss}")
@pytest.mark.req("F-DEGR-03")
def test_every_rung_can_be_seen_by_operators(rung: Rung) -> None:
    assert rung.events
    assert [event for event in rung.events if f'"{event}"' not in read_source()] == []
    assert [event for event in rung.events if f"`{event}`" not in _operating()] == []


@cache
def _operating() -> str:
    return (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")

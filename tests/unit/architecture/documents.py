"""The documents' tables and links, for the checks beside this file."""

import re
from pathlib import Path

from local.places import ROOT

DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")


def read_document(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def read_section(name: str, heading: str) -> str:
    """Return what stands under a heading of any level, up to the next one."""
    found = re.search(
        rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", read_document(name), re.MULTILINE | re.DOTALL
    )
    assert found, f"docs/{name} has no heading {heading!r}"
    return found[1]


def read_table(name: str, heading: str) -> list[dict[str, str]]:
    """Return the rows of the one table under a heading, by the names of its columns."""
    lines = [line for line in read_section(name, heading).splitlines() if line.startswith("|")]
    assert len(lines) > 2, f"docs/{name} has no table under {heading!r}"
    names, _, *rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [dict(zip(names, row, strict=True)) for row in rows]


def read_names(cell: str) -> tuple[str, ...]:
    """Return what a table's cell sets in code."""
    return tuple(CODE.findall(cell))


def list_documents() -> tuple[Path, ...]:
    return tuple(sorted(DOCS.rglob("*.md")))


def list_anchors(document: Path) -> frozenset[str]:
    """Return the places in a document that a link can name: its headings, as they are shown in an address."""
    headings = HEADING.findall(FENCED.sub("", document.read_text(encoding="utf-8")))
    return frozenset(
        re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    )

"""docs/data.md, as data."""

import re

from tests.unit.architecture.documents import read_document, read_names, read_section

PAGE = "data.md"
TABLE = re.compile(r"`(assistant_\w+)`")


def list_structures() -> tuple[str, ...]:
    """Return the headings of the structures."""
    return tuple(re.findall(r"^## (.+)$", read_document(PAGE), re.MULTILINE))


def read_rows(structure: str) -> dict[str, str]:
    """Return a structure's rows, by what their first cell says."""
    lines = [line for line in read_section(PAGE, structure).splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {name: text for name, text in cells if name}


def read_tables() -> dict[str, tuple[str, ...]]:
    """Return every documented table with its columns, in order."""
    return {
        found[1]: read_names(text)
        for structure in list_structures()
        for name, text in read_rows(structure).items()
        if (found := TABLE.fullmatch(name))
    }

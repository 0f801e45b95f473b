"""A folder of documents about an invented observatory, indexed once for the lane."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.cli.api import Api
from tests.deployed import Deployed

DOCUMENTS = {
    "visiting.md": """# Visiting the Larkhill observatory

## Opening hours

The Larkhill observatory opens its dome to visitors every Thursday evening from eight until eleven.
Groups of more than twelve people book the dome two weeks ahead with the night warden.

## Getting there

The last bus to Larkhill leaves the harbour at half past seven. The road is closed to cars when it snows.
""",
    "telescope.html": """<html><head><title>The Aldous telescope</title></head><body>
<h1>The Aldous telescope</h1>
<h2>Mirror</h2>
<p>The Aldous telescope carries a mirror of ninety centimetres, ground from borosilicate glass in 1931.</p>
<h2>Cooling</h2>
<p>The mirror has to cool for forty minutes before the Aldous telescope gives a steady image.</p>
</body></html>
""",
    "safety.txt": """Laser pointers are forbidden inside the dome.
The night warden keeps the only key to the shutter motor.
""",
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents on disk."""
    root = tmp_path_factory.mktemp("observatory")
    for name, text in DOCUMENTS.items():
        (root / name).write_text(text)
    return root


@pytest.fixture(scope="session")
def indexed(deployed: Deployed, folder: Path) -> Deployed:
    """The stack with the documents published."""
    outcome = deployed.index(folder)
    assert outcome.failed == {}
    assert len(outcome.new) == len(DOCUMENTS)
    return deployed


@pytest.fixture
def ada(indexed: Deployed) -> Iterator[Api]:
    """An admin of the organisation the documents belong to."""
    with indexed.api("ada") as api:
        yield api


@pytest.fixture
def mira(indexed: Deployed) -> Iterator[Api]:
    """An admin of another organisation."""
    with indexed.api("mira") as api:
        yield api

"""The observatory's documents, indexed once for the lane, and the people who ask."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.cli.api import Api
from tests.deployed import Deployed
from tests.observatory import DOCUMENTS, write_documents


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents on disk."""
    root = tmp_path_factory.mktemp("observatory")
    write_documents(root)
    return root


@pytest.fixture(scope="session")
def indexed(deployed: Deployed, folder: Path) -> Deployed:
    """The stack with the documents published."""
    outcome = deployed.index(folder)
    assert outcome.failed == {}
    assert len(outcome.new) + len(outcome.unchanged) == len(DOCUMENTS)
    return deployed


@pytest.fixture
def ada(indexed: Deployed) -> Iterator[Api]:
    """An admin of the organisation the documents belong to."""
    with indexed.api("ada") as api:
        yield api

"""One emulator and one cell for all chaos tests; AWS is the proxy while they run."""

from collections.abc import Iterator

import pytest
from equerry.runtime.parameters import open_parameters

from local.emulator import Emulator
from local.places import Places
from local.ports import find_free_port
from local.postgres import EmbeddedPostgres
from tests.chaos.cell import App, Cell, open_cell
from tests.contract.databases import build_database


@pytest.fixture(scope="package")
def cell(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cell]:
    """The parts that functions run among."""
    places = Places(
        state=tmp_path_factory.mktemp("emulator"), chat=1, issuer=2, emulator=find_free_port(), postgres=4
    )
    emulator = Emulator(places)
    emulator.start()
    try:
        with open_cell(places, build_database(postgres)) as cell, pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", cell.aws.url)
            open_parameters.cache_clear()
            yield cell
    finally:
        open_parameters.cache_clear()
        emulator.stop()


@pytest.fixture(scope="package")
def worker(cell: Cell) -> App:
    """A worker function that is warm."""
    return cell.build_worker()

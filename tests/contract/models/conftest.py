"""Each provider with its strict server, and our adapter connected to it."""

from collections.abc import Iterator

import pytest
from equerry.adapters.rounds.driver import DrivenModelAdapter

from tests.contract.models.subjects import KITS, Kit
from tests.strict.server import StrictServer


@pytest.fixture(params=KITS, ids=lambda kit: kit.name)
def kit(request: pytest.FixtureRequest) -> Kit:
    found: Kit = request.param
    return found


@pytest.fixture
def server(kit: Kit) -> Iterator[StrictServer]:
    with kit.serve() as running:
        yield running


@pytest.fixture
def model(kit: Kit, server: StrictServer) -> Iterator[DrivenModelAdapter]:
    with kit.connect(server) as adapter:
        yield adapter

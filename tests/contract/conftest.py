"""Fixtures that the contract suites share."""

from collections.abc import Iterator

import pytest
from equerry.adapters.postgres.connections import PostgresConnections

from local.postgres import EmbeddedPostgres
from tests.contract.databases import Database, build_database


@pytest.fixture(scope="session")
def database(postgres: EmbeddedPostgres) -> Database:
    """A migrated database; tests keep apart by organisation."""
    return build_database(postgres)


@pytest.fixture(scope="session")
def connections(database: Database) -> Iterator[PostgresConnections]:
    """The runtime role's connections, enough for the racing tests."""
    pool = database.connect(max_size=8)
    yield pool
    pool.close()

"""A throwaway database with the schema, for the benches."""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
from equerry.adapters.postgres.addresses import DatabaseAddress
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.migrations import apply_migrations
from equerry.adapters.postgres.roles import PLATFORM, RUNTIME, ensure_roles

from local.places import ROOT
from local.ports import find_free_port
from local.postgres import EmbeddedPostgres


@dataclass(frozen=True, slots=True)
class BenchDatabase:
    """The runtime role's connections, the platform role's, and the superuser's address for filling tables."""

    connections: PostgresConnections
    platform: PostgresConnections
    superuser_url: str
    address: DatabaseAddress

    def reconnect(self, name: str) -> PostgresConnections:
        """Return the runtime role's connections to another database of the same server; close them."""
        return PostgresConnections(lambda: replace(self.address, dbname=name))


@contextmanager
def open_database() -> Iterator[BenchDatabase]:
    """Start an empty, migrated PostgreSQL; it is gone afterwards."""
    passwords = {RUNTIME: secrets.token_hex(8), PLATFORM: secrets.token_hex(8)}
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedPostgres(Path(folder), find_free_port(), durable=False) as server,
    ):
        with psycopg.connect(server.owner_url, autocommit=True) as owner:
            ensure_roles(owner, passwords)
        apply_migrations(server.owner_url, ROOT / "migrations")
        address = DatabaseAddress.from_url(server.url(RUNTIME, passwords[RUNTIME]))
        operators = DatabaseAddress.from_url(server.url(PLATFORM, passwords[PLATFORM]))
        connections = PostgresConnections(lambda: address)
        platform = PostgresConnections(lambda: operators, silence_s=120.0)
        try:
            yield BenchDatabase(connections, platform, server.superuser_url, address)
        finally:
            connections.close()
            platform.close()

"""A throwaway database with the schema, for the benches."""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
    """The runtime role's connections, and the superuser's address for filling tables."""

    connections: PostgresConnections
    superuser_url: str


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
        connections = PostgresConnections(lambda: address)
        try:
            yield BenchDatabase(connections, server.superuser_url)
        finally:
            connections.close()

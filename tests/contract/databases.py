"""A migrated database for the contract suites, and people to ask it."""

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
from equerry.adapters.postgres.addresses import DatabaseAddress
from equerry.adapters.postgres.connections import PoolBounds, PostgresConnections
from equerry.adapters.postgres.migrations import apply_migrations
from equerry.adapters.postgres.roles import PLATFORM, RUNTIME, ensure_roles
from equerry.domain.principal import Role, Scope
from equerry.kernel.identifiers import OrganisationId, ProjectId, UserId

from local.postgres import EmbeddedPostgres

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"
PASSWORDS = {RUNTIME: "runtime's/own @password", PLATFORM: "platform:password"}


@dataclass(frozen=True, slots=True)
class Database:
    """One migrated database and its roles' addresses."""

    server: EmbeddedPostgres
    name: str

    def address(self, role: str) -> DatabaseAddress:
        """Return the address for a role."""
        return DatabaseAddress(
            host="127.0.0.1",
            port=self.server.port,
            dbname=self.name,
            username=role,
            password=PASSWORDS[role],
        )

    def connect(
        self, role: str = RUNTIME, *, max_size: int = 2, timeout_s: float = 5.0
    ) -> PostgresConnections:
        """Return connections of a role; close them."""
        return PostgresConnections(
            lambda: self.address(role), bounds=PoolBounds(max_size=max_size, checkout_s=timeout_s)
        )

    @property
    def owner_url(self) -> str:
        """The address of the owner."""
        return (
            DatabaseAddress.from_url(self.server.owner_url)
            .format_url()
            .replace("equerry_assistant", self.name)
        )

    @property
    def superuser_url(self) -> str:
        """The address of the superuser, for what a test must see behind the policies."""
        return self.server.superuser_url.replace("equerry_assistant", self.name)


def build_database(server: EmbeddedPostgres, *, migrate: bool = True) -> Database:
    """Create a database of its own on this server."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(server.superuser_url, autocommit=True) as session:
        session.execute(f"CREATE DATABASE {name} OWNER equerry_owner")
    database = Database(server, name)
    with psycopg.connect(database.superuser_url, autocommit=True) as session:
        session.execute("CREATE EXTENSION vector")
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        ensure_roles(owner, PASSWORDS)
    if migrate:
        apply_migrations(database.owner_url, MIGRATIONS)
    return database


def build_scope(
    organisation: str, user: str = "ada", *, role: Role = "member", projects: tuple[str, ...] = ()
) -> Scope:
    """Return somebody's scope."""
    return Scope(
        organisation_id=OrganisationId(organisation),
        user_id=UserId(user),
        role=role,
        project_ids=tuple(ProjectId(project) for project in projects),
    )


def new_organisation() -> str:
    """Return the name of an organisation nobody has used."""
    return f"org-{uuid4().hex[:8]}"

"""Applies the schema's migrations, forward only."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from equerry.adapters.postgres.addresses import DatabaseAddress

if TYPE_CHECKING:
    from psycopg import Connection

# Any number will do, as long as nothing else in the database locks it.
LOCK_KEY: Final = 7_209_451_193
CHECKSUMS: Final = """
CREATE TABLE IF NOT EXISTS equerry_migration_checksums (
    migration_id text PRIMARY KEY,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)"""


class MigrationEdited(Exception):
    """A migration that is already applied has changed since, or its file is gone; nothing was applied."""


def apply_migrations(owner_url: str, path: Path) -> tuple[str, ...]:
    """Apply what is not yet applied, in order of file name, each in a transaction with its own record.

    Several callers at once wait for each other. The database roles must exist.

    Args:
        owner_url: `postgresql://...` of the owning role.
        path: the folder of `*.sql` files.

    Returns:
        the ids (file names without suffix) of the migrations this call applied.

    Raises:
        MigrationEdited: see there.
        ValueError: the folder holds no migration.
    """
    files = {file.stem: file for file in sorted(path.glob("*.sql"))}
    if not files:
        raise ValueError(f"no migrations in {path}")
    with _locked(owner_url) as session:
        recorded = _recorded_checksums(session)
        _check_unedited(recorded, files)
        return _apply(owner_url, {name: file for name, file in files.items() if name not in recorded}, path)


@contextmanager
def _locked(owner_url: str) -> Iterator["Connection[tuple[Any, ...]]"]:
    import psycopg

    # The server drops this lock with the session; the library's own is a row that a dead process leaves.
    with psycopg.connect(owner_url, autocommit=True) as session:
        session.execute("SELECT pg_advisory_lock(%s)", (LOCK_KEY,))
        yield session


def _recorded_checksums(session: "Connection[tuple[Any, ...]]") -> dict[str, str]:
    session.execute("SET client_min_messages = warning")
    session.execute(CHECKSUMS)
    rows = session.execute("SELECT migration_id, sha256 FROM equerry_migration_checksums").fetchall()
    return {row[0]: row[1] for row in rows}


def _check_unedited(recorded: dict[str, str], files: dict[str, Path]) -> None:
    for name, checksum in recorded.items():
        if name not in files:
            raise MigrationEdited(f"migration {name} is applied, but its file is gone")
        if _checksum(files[name]) != checksum:
            raise MigrationEdited(f"migration {name} was edited after it was applied; add a new file instead")


def _apply(owner_url: str, files: dict[str, Path], path: Path) -> tuple[str, ...]:
    from yoyo import get_backend, read_migrations

    if not files:
        return ()
    url = DatabaseAddress.from_url(owner_url).format_url("postgresql+psycopg")
    with get_backend(url) as backend:
        backend.break_lock()  # we hold the real one: a row in there is a dead process's
        backend.ensure_internal_schema_updated()
        found = {migration.id: migration for migration in read_migrations(str(path))}
        for name, file in files.items():
            # The library would record a migration after its transaction; a crash between the two wedges it.
            with backend.transaction():
                found[name].process_steps(backend, "apply")
                backend.mark_one(found[name], log=False)
                backend.execute(
                    "INSERT INTO equerry_migration_checksums (migration_id, sha256) VALUES (:id, :sha256)",
                    {"id": name, "sha256": _checksum(file)},
                )
    return tuple(files)


def _checksum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()

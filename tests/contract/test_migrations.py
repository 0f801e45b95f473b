"""The schema from nothing and from each version it ever had, with rows in it: one and the same in the end."""

from pathlib import Path

import psycopg
import pytest
from equerry.adapters.postgres.migrations import apply_migrations

from local.postgres import EmbeddedPostgres
from tests.contract.databases import MIGRATIONS, Database, build_database

pytestmark = pytest.mark.postgres

NAMES = tuple(file.stem for file in sorted(MIGRATIONS.glob("*.sql")))
ROWS = """
INSERT INTO assistant_conversations
    (conversation_id, organisation_id, created_by, profile, title, created_at, updated_at)
VALUES ('11111111-1111-4111-8111-111111111111', 'acme', 'ada', 'docs', 't', now(), now());
INSERT INTO assistant_messages
    (message_id, conversation_id, organisation_id, created_by, run_id, role, content, created_at)
VALUES (gen_random_uuid(), '11111111-1111-4111-8111-111111111111', 'acme', 'ada', gen_random_uuid(), 'user',
    '?', now());
INSERT INTO assistant_runs
    (run_id, conversation_id, organisation_id, created_by, user_message_id, assistant_message_id, profile,
     mode, mode_reason, status, created_at)
VALUES (gen_random_uuid(), '11111111-1111-4111-8111-111111111111', 'acme', 'ada', gen_random_uuid(),
    gen_random_uuid(), 'docs', 'queued', 'x', 'queued', now());
INSERT INTO assistant_actions
    (run_id, call_id, conversation_id, organisation_id, created_by, position, tool, arguments, ok,
     duration_ms, created_at)
VALUES (gen_random_uuid(), 'c', '11111111-1111-4111-8111-111111111111', 'acme', 'ada', 0, 'look', '{}',
    true, 1, now());
"""
FILLED = ("assistant_conversations", "assistant_messages", "assistant_runs", "assistant_actions")
CATALOGUE = (
    """SELECT table_name, column_name, data_type, is_nullable, column_default
       FROM information_schema.columns WHERE table_schema = 'public'""",
    """SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check FROM pg_policies""",
    """SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
       WHERE connamespace = 'public'::regnamespace""",
    """SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'""",
    """SELECT table_name, grantee, privilege_type FROM information_schema.role_table_grants
       WHERE table_schema = 'public'""",
    """SELECT proname, proowner::regrole::text, prosecdef, provolatile::text, proacl::text, md5(prosrc)
       FROM pg_proc WHERE pronamespace = 'public'::regnamespace""",
    """SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'""",
)


def describe(database: Database) -> list[list[tuple[object, ...]]]:
    """Return what the catalogue says of the schema, in an order of its own."""
    with psycopg.connect(database.superuser_url) as session:
        return [sorted(session.execute(query).fetchall(), key=repr) for query in CATALOGUE]


def copy_until(folder: Path, last: str) -> Path:
    """Put the migrations up to one of them, with it, into a folder."""
    folder.mkdir(exist_ok=True)
    for name in NAMES[: NAMES.index(last) + 1]:
        (folder / f"{name}.sql").write_bytes((MIGRATIONS / f"{name}.sql").read_bytes())
    return folder


@pytest.fixture(scope="module")
def from_nothing(postgres: EmbeddedPostgres) -> list[list[tuple[object, ...]]]:
    return describe(build_database(postgres))


@pytest.mark.req("A-DATA-11")
@pytest.mark.parametrize("version", NAMES[:-1])
def test_each_version_with_rows_in_it_becomes_the_same_as_one_from_nothing(
    postgres: EmbeddedPostgres, tmp_path: Path, from_nothing: list[list[tuple[object, ...]]], version: str
) -> None:
    database = build_database(postgres, migrate=False)
    apply_migrations(database.owner_url, copy_until(tmp_path / "migrations", version))
    with psycopg.connect(database.superuser_url) as session:
        session.execute(ROWS)

    applied = apply_migrations(database.owner_url, MIGRATIONS)

    assert applied == NAMES[NAMES.index(version) + 1 :]
    assert describe(database) == from_nothing
    with psycopg.connect(database.superuser_url) as session:
        for table in FILLED:
            assert session.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,), table


@pytest.mark.req("A-BACK-01", "A-PROJ-04")
@pytest.mark.parametrize("version", [name for name in NAMES if name < "0011"])
def test_a_conversation_older_than_membership_is_closed_and_a_newer_one_is_not(
    postgres: EmbeddedPostgres, tmp_path: Path, version: str
) -> None:
    database = build_database(postgres, migrate=False)
    apply_migrations(database.owner_url, copy_until(tmp_path / "migrations", version))
    with psycopg.connect(database.superuser_url, autocommit=True) as session:
        session.execute(ROWS)
        apply_migrations(database.owner_url, MIGRATIONS)
        session.execute(ROWS.split(";")[0].replace("11111111-", "22222222-"))

        known = session.execute(
            "SELECT project_scope_known FROM assistant_conversations ORDER BY conversation_id"
        ).fetchall()

    assert known == [(False,), (True,)]

"""The schema's own promises: migrations forward only, least rights, and policies nobody gets around."""

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.migrations import MigrationEdited, apply_migrations
from equerry.adapters.postgres.roles import MEMBERSHIP, PLATFORM, RUNTIME, SEARCH, ensure_roles
from equerry.adapters.postgres.search import PostgresVectorStoreAdapter
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.domain.conversations import Conversation
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ConversationId, CorpusId
from psycopg.errors import InsufficientPrivilege

from local.postgres import EmbeddedPostgres
from tests.contract.corpora import HANDBOOK, PIPELINE, build_file, build_publication
from tests.contract.databases import (
    MIGRATIONS,
    PASSWORDS,
    Database,
    build_database,
    build_scope,
    new_organisation,
)
from tests.fakes.clock import NOON

pytestmark = pytest.mark.postgres

OF_THE_MIGRATOR = "'equerry_migration_checksums'"
Fetch = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture
def fetch(database: Database) -> Fetch:
    """Reads the catalogue as the superuser."""

    def run(query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(database.superuser_url) as session:
            return session.execute(query).fetchall()

    return run


@pytest.fixture
def copied_migrations(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MIGRATIONS, tmp_path / "migrations"))


POLICY = "CREATE POLICY everybody ON assistant_notes USING (true)"
OPEN = f"""
SELECT relname FROM pg_class
WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
    AND relname NOT IN ({OF_THE_MIGRATOR}) AND relname NOT LIKE '%yoyo%'
    AND NOT (relrowsecurity AND relforcerowsecurity
        AND EXISTS (SELECT FROM pg_policy WHERE polrelid = pg_class.oid))
"""


@pytest.mark.req("A-TEN-01")
def test_every_table_forces_row_level_security_and_has_policies(fetch: Fetch) -> None:
    assert fetch(OPEN) == []


@pytest.mark.req("A-TEN-01")
@pytest.mark.parametrize(
    "walls",
    [
        "",
        "ALTER TABLE assistant_notes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
        f"ALTER TABLE assistant_notes ENABLE ROW LEVEL SECURITY; {POLICY}",
        f"ALTER TABLE assistant_notes FORCE ROW LEVEL SECURITY; {POLICY}",
    ],
    ids=["none", "no policy", "not forced", "not enabled"],
)
def test_a_new_table_whose_walls_have_a_gap_is_found_out(database: Database, walls: str) -> None:
    with psycopg.connect(database.superuser_url) as session:
        session.execute("CREATE TABLE assistant_notes (organisation_id text)")
        session.execute(walls)
        found = session.execute(OPEN).fetchall()
        session.rollback()

    assert found == [("assistant_notes",)]


@pytest.mark.req("A-DATA-13")
def test_the_runtime_role_owns_nothing_and_deletes_nothing(fetch: Fetch) -> None:
    rights = fetch(
        "SELECT table_name, privilege_type FROM information_schema.role_table_grants"
        f" WHERE grantee = '{RUNTIME}' AND privilege_type NOT IN ('SELECT', 'INSERT', 'UPDATE')"
    )
    owned = fetch(f"SELECT 1 FROM pg_class WHERE relowner = '{RUNTIME}'::regrole")

    assert rights == []
    assert owned == []


@pytest.mark.req("A-DATA-04", "A-DATA-05")
def test_the_audit_is_append_only_for_the_runtime_and_deletable_for_the_platform(fetch: Fetch) -> None:
    rights = fetch(
        "SELECT grantee, privilege_type FROM information_schema.role_table_grants"
        f" WHERE table_name = 'assistant_actions' AND grantee IN ('{RUNTIME}', '{PLATFORM}')"
        " ORDER BY grantee, privilege_type"
    )

    assert rights == [(PLATFORM, "DELETE"), (PLATFORM, "SELECT"), (RUNTIME, "INSERT"), (RUNTIME, "SELECT")]


@pytest.mark.req("A-DATA-12")
def test_the_audit_refers_to_no_conversation(fetch: Fetch) -> None:
    keys = fetch(
        "SELECT conname FROM pg_constraint WHERE conrelid = 'assistant_actions'::regclass AND contype = 'f'"
    )

    assert keys == []


def test_no_role_of_ours_bypasses_a_policy_or_is_a_superuser(fetch: Fetch) -> None:
    roles = fetch(
        "SELECT rolname, rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname LIKE 'equerry%'"
        " ORDER BY rolname"
    )

    assert roles == [
        ("equerry_membership", False, False, False),
        ("equerry_owner", False, False, True),
        (PLATFORM, False, False, True),
        (RUNTIME, False, False, True),
        ("equerry_search", False, False, False),
    ]


def test_a_function_that_runs_as_its_owner_pins_its_search_path_and_serves_the_runtime_only(
    fetch: Fetch,
) -> None:
    functions = fetch(
        "SELECT proname, proowner::regrole::text, array_to_string(proconfig, ' '), proacl::text"
        " FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace"
    )

    owners = {name: owner for name, owner, *_ in functions}
    assert owners == {
        "equerry_find_matching": "equerry_search",
        "equerry_find_nearest": "equerry_search",
        "equerry_find_nearest_exact": "equerry_search",
        "equerry_within_projects": "equerry_membership",
    }
    for name, owner, settings, rights in functions:
        assert "search_path=pg_catalog, public, pg_temp" in str(settings), name
        grantees = {entry.partition("=")[0] for entry in str(rights).strip("{}").split(",")}
        assert grantees == {owner, RUNTIME}, (name, rights)


@pytest.mark.parametrize(
    ("role", "table"), [(SEARCH, "assistant_passages"), (MEMBERSHIP, "assistant_conversations")]
)
def test_a_role_that_owns_functions_reads_one_table_and_nothing_else(
    fetch: Fetch, role: str, table: str
) -> None:
    rights = fetch(
        "SELECT table_name, privilege_type FROM information_schema.role_table_grants"
        f" WHERE grantee = '{role}'"
    )
    creates = fetch(f"SELECT has_schema_privilege('{role}', 'public', 'CREATE')")

    assert rights == [(table, "SELECT")]
    assert creates == [(False,)]


@pytest.mark.req("A-TEN-01")
def test_even_the_owner_sees_no_row(database: Database, connections: PostgresConnections) -> None:
    PostgresTranscriptAdapter(connections).create_conversation(build_scope("org-o"), build_conversation())

    with psycopg.connect(database.owner_url) as owner:
        assert owner.execute("SELECT count(*) FROM assistant_conversations").fetchone() == (0,)
        assert owner.execute("SELECT count(*) FROM assistant_passages").fetchone() == (0,)


def build_conversation() -> Conversation:
    return Conversation(
        conversation_id=ConversationId(str(uuid4())),
        profile="docs",
        title="",
        created_at=NOON,
        updated_at=NOON,
    )


@pytest.mark.req("A-TEN-02")
def test_a_transactions_identity_does_not_outlive_it(database: Database) -> None:
    connections = database.connect(max_size=1)
    transcripts = PostgresTranscriptAdapter(connections)
    scope = build_scope(new_organisation())
    transcripts.create_conversation(scope, build_conversation())

    with connections.across_tenants() as rows:
        counted = rows.execute("SELECT count(*) AS n FROM assistant_conversations").fetchone()
    with connections._open().connection() as bare:
        left = bare.execute("SELECT count(*) AS n FROM assistant_conversations").fetchone()
    connections.close()

    assert counted == {"n": 0}
    assert left == {"n": 0}


@pytest.mark.req("F-RPERM-05")
@pytest.mark.parametrize("missing", ["app.organisation_id", "app.user_id", "app.organisation_id app.user_id"])
def test_a_missing_setting_shows_nothing(connections: PostgresConnections, missing: str) -> None:
    admin = build_scope(new_organisation(), "root", role="admin")
    publish_line(connections, admin.organisation_id, "key")

    with connections.transaction(build_scope(admin.organisation_id)) as rows:
        for name in missing.split():
            rows.execute("SELECT set_config(%s, '', true)", (name,))
        policy = rows.execute("SELECT 1 FROM assistant_passages").fetchall()
        matching = rows.execute("SELECT 1 FROM equerry_find_matching('key', '{handbook}', 5)").fetchall()
        vector = "[" + ",".join(["0.1"] * 384) + "]"
        nearest = rows.execute(
            "SELECT 1 FROM equerry_find_nearest(%s::vector, 'model-1', '{handbook}', 5)", (vector,)
        ).fetchall()
        exact = rows.execute(
            "SELECT 1 FROM equerry_find_nearest_exact(%s::vector, 'model-1', '{handbook}', 5)", (vector,)
        ).fetchall()

    assert (policy, matching, nearest, exact) == ([], [], [], [])


def publish_line(connections: PostgresConnections, organisation: str, line: str) -> None:
    admin = build_scope(organisation, "root", role="admin")
    documents = PostgresDocumentAdapter(connections)
    (announced,) = documents.announce(admin, HANDBOOK, [build_file("a.md", line)], pipeline_version=PIPELINE)
    assert documents.publish(admin.organisation_id, build_publication(announced.document_id, line))


def test_a_member_can_neither_announce_nor_change_a_document(connections: PostgresConnections) -> None:
    organisation = new_organisation()
    publish_line(connections, organisation, "key")
    member = build_scope(organisation, "ada")

    with pytest.raises(InsufficientPrivilege):
        PostgresDocumentAdapter(connections).announce(
            member, HANDBOOK, [build_file("b.md", "x")], pipeline_version=PIPELINE
        )
    with connections.transaction(member) as rows:
        rows.execute("UPDATE assistant_documents SET visible_to = '{user:ada}'")
        assert rows.rowcount == 0
        rows.execute("UPDATE assistant_passages SET text = 'forged'")
        assert rows.rowcount == 0


def test_a_row_cannot_be_written_for_somebody_else(connections: PostgresConnections) -> None:
    statement = (
        "INSERT INTO assistant_conversations VALUES (gen_random_uuid(), %s, %s, 'docs', '', now(), now())"
    )
    scope = build_scope(new_organisation())

    for organisation, user in ((new_organisation(), scope.user_id), (scope.organisation_id, "ben")):
        with pytest.raises(InsufficientPrivilege), connections.transaction(scope) as rows:
            rows.execute(statement, (organisation, user))


def test_a_message_cannot_be_put_into_anothers_conversation(connections: PostgresConnections) -> None:
    conversation = build_conversation()
    ada, ben = build_scope(new_organisation(), "ada"), build_scope(new_organisation(), "ben")
    PostgresTranscriptAdapter(connections).create_conversation(ada, conversation)

    with (
        pytest.raises(InsufficientPrivilege),
        connections.transaction(ben) as rows,
    ):
        rows.execute(
            "INSERT INTO assistant_messages (message_id, conversation_id, organisation_id, created_by,"
            " run_id, role, content, created_at)"
            " VALUES (gen_random_uuid(), %s, %s, %s, gen_random_uuid(), 'user', 'hello', now())",
            (conversation.conversation_id, ben.organisation_id, ben.user_id),
        )


def test_a_project_id_cannot_smuggle_in_another(connections: PostgresConnections) -> None:
    scope = build_scope(new_organisation(), projects=("a,b",))

    with pytest.raises(ValueError, match="comma"):
        PostgresVectorStoreAdapter(connections).find_nearest(
            scope, (1.0,) * 384, embedding_version="m", corpora=(HANDBOOK,), limit=1
        )


def test_a_member_can_not_even_count_the_corpora_they_may_read_nothing_of(
    connections: PostgresConnections,
) -> None:
    documents, organisation = PostgresDocumentAdapter(connections), new_organisation()
    admin = build_scope(organisation, "root", role="admin")
    for corpus, readers in (("open", ("organisation",)), ("closed", ("user:ben",))):
        file = build_file("a.md", "one", visible_to=readers)
        documents.announce(admin, CorpusId(corpus), [file], pipeline_version=PIPELINE)

    def count(scope: Scope) -> int:
        with connections.transaction(scope) as rows:
            return len(rows.execute("SELECT 1 FROM assistant_corpora").fetchall())

    assert count(build_scope(organisation, "ada")) == 1
    assert count(build_scope(organisation, "ben")) == 2
    assert count(admin) == 2
    assert count(build_scope(new_organisation(), "ben")) == 0


def test_a_second_run_applies_nothing(database: Database) -> None:
    assert apply_migrations(database.owner_url, MIGRATIONS) == ()


def test_several_migrators_at_once_apply_each_migration_once(postgres: EmbeddedPostgres) -> None:
    fresh = build_database(postgres, migrate=False)

    with ThreadPoolExecutor(3) as threads:
        runs = [threads.submit(apply_migrations, fresh.owner_url, MIGRATIONS) for _ in range(3)]
        applied = sorted((run.result() for run in runs), key=len)

    assert applied[:2] == [(), ()]
    assert applied[2] == tuple(sorted(file.stem for file in MIGRATIONS.glob("*.sql")))


@pytest.mark.req("A-DATA-11")
def test_an_edited_migration_is_refused_before_anything_is_applied(
    postgres: EmbeddedPostgres, copied_migrations: Path
) -> None:
    fresh = build_database(postgres, migrate=False)
    apply_migrations(fresh.owner_url, copied_migrations)
    first = min(copied_migrations.glob("*.sql"))
    (copied_migrations / "9999.later.sql").write_text("CREATE TABLE later (id int);")

    first.write_text(first.read_text() + "\n-- a harmless remark\n")
    with pytest.raises(MigrationEdited, match=first.stem):
        apply_migrations(fresh.owner_url, copied_migrations)
    first.unlink()
    with pytest.raises(MigrationEdited, match="gone"):
        apply_migrations(fresh.owner_url, copied_migrations)

    with psycopg.connect(fresh.owner_url) as owner:
        assert owner.execute("SELECT to_regclass('later')").fetchone() == (None,)


def test_a_migration_that_fails_leaves_nothing_and_can_be_mended(
    postgres: EmbeddedPostgres, copied_migrations: Path
) -> None:
    fresh = build_database(postgres, migrate=False)
    broken = copied_migrations / "9999.later.sql"
    broken.write_text("CREATE TABLE later (id int);\nSELECT 1 / 0;")

    with pytest.raises(psycopg.errors.DivisionByZero):
        apply_migrations(fresh.owner_url, copied_migrations)
    broken.write_text("CREATE TABLE later (id int);")

    assert apply_migrations(fresh.owner_url, copied_migrations) == ("9999.later",)


def test_a_folder_without_migrations_is_an_error(database: Database, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no migrations"):
        apply_migrations(database.owner_url, tmp_path)


def test_a_changed_password_is_set_and_never_sent_in_clear(postgres: EmbeddedPostgres) -> None:
    fresh = build_database(postgres, migrate=False)
    changed = PASSWORDS | {RUNTIME: "n3w'; DROP ROLE equerry_platform; --"}

    try:
        with psycopg.connect(fresh.owner_url, autocommit=True) as owner:
            ensure_roles(owner, changed)
        with psycopg.connect(
            host="127.0.0.1", port=postgres.port, dbname=fresh.name, user=RUNTIME, password=changed[RUNTIME]
        ) as session:
            assert session.execute("SELECT current_user").fetchone() == (RUNTIME,)
    finally:
        with psycopg.connect(fresh.owner_url, autocommit=True) as owner:
            ensure_roles(owner, PASSWORDS)


def test_a_role_without_a_password_is_refused(database: Database) -> None:
    with (
        psycopg.connect(database.owner_url, autocommit=True) as owner,
        pytest.raises(ValueError, match="passwords are needed"),
    ):
        ensure_roles(owner, {RUNTIME: "x"})

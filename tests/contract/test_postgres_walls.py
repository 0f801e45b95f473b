"""What the database alone keeps apart: plain statements of the runtime role, without one predicate of ours.

The tables come from the catalogue, so that a new one is asked as well, and fails for want of a row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from uuid import uuid4

import psycopg
import pytest
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.domain.conversations import Conversation
from equerry.domain.principal import Role, Scope
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import ConversationId, OrganisationId, ProjectId, UserId
from psycopg import sql
from psycopg.errors import CheckViolation, InsufficientPrivilege, UndefinedTable

from local.postgres import EmbeddedPostgres
from tests.contract.corpora import HANDBOOK, PIPELINE, build_file, build_publication
from tests.contract.databases import Database, build_database, build_scope, new_organisation
from tests.contract.steps import build_step
from tests.contract.test_transcripts import build_end, build_turn
from tests.fakes.clock import NOON
from tests.fakes.directory import MemoryDirectoryAdapter
from tests.fakes.transcripts import let_begin

pytestmark = pytest.mark.postgres

SERVED = """
SELECT DISTINCT grants.table_name, EXISTS (
    SELECT FROM information_schema.columns AS columns
    WHERE columns.table_schema = 'public' AND columns.table_name = grants.table_name
        AND columns.column_name = 'conversation_id'
)
FROM information_schema.role_table_grants AS grants
WHERE grants.table_schema = 'public' AND grants.grantee = 'equerry_runtime' ORDER BY 1
"""
UNBOUND = """
SELECT class.relname FROM pg_class AS class
JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid AND attribute.attname = 'conversation_id'
WHERE class.relkind IN ('r', 'p') AND class.relnamespace = 'public'::regnamespace
    AND has_table_privilege('equerry_runtime', class.oid, 'SELECT')
    AND NOT EXISTS (
        SELECT FROM pg_policies AS policy
        WHERE policy.tablename = class.relname AND policy.policyname = 'project_membership'
            AND policy.permissive = 'RESTRICTIVE' AND policy.cmd = 'ALL'
            AND 'equerry_runtime' = ANY (policy.roles)
    )
ORDER BY 1
"""
DRAFT = """
INSERT INTO assistant_drafts
    (draft_id, conversation_id, organisation_id, created_by, run_id, source, operation, request, created_at,
     updated_at)
VALUES (gen_random_uuid(), %s, %s, %s, gen_random_uuid(), 'tool_call', 'create', '{}', now(), now())
"""
ARTIFACT = """
INSERT INTO assistant_artifacts
    (artifact_id, conversation_id, organisation_id, created_by, run_id, kind, title, size_bytes, created_at)
VALUES (gen_random_uuid(), %s, %s, %s, gen_random_uuid(), 'payload', 't', 1, now())
"""
INTERACTION = """
INSERT INTO assistant_interactions
    (interaction_id, conversation_id, organisation_id, created_by, kind, created_at)
VALUES (gen_random_uuid(), %s, %s, %s, 'opened', now())
"""


@dataclass(frozen=True)
class Estate:
    """One person's rows in every table, in a conversation that holds content of `apollo`."""

    database: Database
    connections: PostgresConnections
    ada: Scope
    conversation_id: ConversationId

    @property
    def tables(self) -> dict[str, bool]:
        """Every table the runtime role may touch, and whether its rows hang on a conversation."""
        with psycopg.connect(self.database.superuser_url) as session:
            return dict(session.execute(SERVED).fetchall())

    def count(self, scope: Scope) -> dict[str, int]:
        """Count every table as somebody, without a condition."""
        with self.connections.transaction(scope) as rows:
            return {table: count(rows, table) for table in self.tables}


def count(rows: psycopg.Cursor[dict[str, int]], table: str) -> int:
    found = rows.execute(sql.SQL("SELECT count(*) AS n FROM {}").format(sql.Identifier(table))).fetchone()
    assert found is not None
    return found["n"]


@pytest.fixture(scope="module")
def estate(postgres: EmbeddedPostgres) -> Iterator[Estate]:
    database = build_database(postgres)
    connections = database.connect()
    ada = build_scope("acme", "ada", projects=("apollo",))
    yield settle(database, connections, ada)
    connections.close()


def settle(database: Database, connections: PostgresConnections, ada: Scope) -> Estate:
    run, question = build_turn(build_conversation())
    transcripts = PostgresTranscriptAdapter(connections)
    transcripts.create_conversation(ada, replace(build_conversation(), conversation_id=run.conversation_id))
    transcripts.append_turn(ada, run.conversation_id, let_begin(ada, run, question))
    end = replace(build_end(), actions=(build_step(),), project_ids=(ProjectId("apollo"),))
    PostgresRunAdapter(connections, keeps=True).end_run(ada, run.run_id, end)
    whose = (run.conversation_id, ada.organisation_id, ada.user_id)
    with connections.transaction(ada) as rows:
        for statement in (DRAFT, ARTIFACT, INTERACTION):
            rows.execute(statement, whose)
    admin = replace(ada, role="admin")
    documents = PostgresDocumentAdapter(connections)
    file = build_file("plan.md", "the plan", visible_to=("project:apollo",))
    (announced,) = documents.announce(admin, HANDBOOK, [file], pipeline_version=PIPELINE)
    assert documents.publish(ada.organisation_id, build_publication(announced.document_id, "the plan"))
    with psycopg.connect(database.superuser_url, autocommit=True) as session:
        session.execute(
            "INSERT INTO assistant_tenancies (organisation_id, enabled) VALUES (%s, true)",
            (ada.organisation_id,),
        )
    return Estate(database, connections, ada, run.conversation_id)


def build_conversation() -> Conversation:
    return Conversation(
        conversation_id=ConversationId(str(uuid4())),
        profile="docs",
        title="",
        created_at=NOON,
        updated_at=NOON,
    )


@pytest.mark.req("A-TEN-01", "A-PROJ-11")
def test_whoever_may_see_everything_sees_a_row_of_every_table(estate: Estate) -> None:
    assert all(estate.count(estate.ada).values()), estate.count(estate.ada)


@pytest.mark.req("A-TEN-01", "A-TEN-03", "F-TENV-01")
@pytest.mark.parametrize("role", ["member", "admin"])
def test_another_organisation_sees_no_row_of_any_table_whatever_it_leaves_out(
    estate: Estate, role: Role
) -> None:
    twin = replace(estate.ada, organisation_id=OrganisationId("globex"), role=role)

    assert not any(estate.count(twin).values()), estate.count(twin)


@pytest.mark.req("A-TEN-03", "A-PROJ-11")
def test_a_colleague_in_the_same_project_sees_nothing_that_hangs_on_a_conversation(estate: Estate) -> None:
    ben = build_scope("acme", "ben", projects=("apollo",))
    seen = estate.count(ben)

    assert {table for table, hangs in estate.tables.items() if hangs and seen[table]} == set()


@pytest.mark.req("A-PROJ-06", "A-PROJ-10", "A-PROJ-11", "R-42")
@pytest.mark.parametrize("role", ["member", "admin"])
def test_who_has_left_the_project_sees_no_row_that_holds_anything_of_it(estate: Estate, role: Role) -> None:
    left = replace(estate.ada, project_ids=(), role=role)
    seen = estate.count(left)

    bound = {table for table, hangs in estate.tables.items() if hangs} | {"assistant_passages"}
    assert {table for table in bound if seen[table]} == set()


def test_without_an_identity_there_is_no_row_at_all(estate: Estate) -> None:
    with estate.connections.across_tenants() as rows:
        assert {table for table in estate.tables if count(rows, table)} == set()
    nowhere = replace(estate.ada, organisation_id=OrganisationId(""))
    nobody = replace(estate.ada, user_id=UserId(""))
    for scope in (nowhere, nobody):
        seen = estate.count(scope)
        assert {table for table, hangs in estate.tables.items() if hangs and seen[table]} == set(), scope


@pytest.mark.req("A-TEN-01", "A-DATA-13", "A-PROJ-06", "A-PROJ-11")
@pytest.mark.parametrize("whose", ["another organisation", "a colleague", "who left"])
def test_nobody_else_changes_a_row_and_nobody_at_all_deletes_one(estate: Estate, whose: str) -> None:
    other = {
        "another organisation": replace(estate.ada, organisation_id=OrganisationId("globex"), role="admin"),
        "a colleague": build_scope("acme", "ben", projects=("apollo",)),
        "who left": replace(estate.ada, project_ids=()),
    }[whose]

    for table, hangs in estate.tables.items():
        name = sql.Identifier(table)
        for scope in (other, estate.ada):
            with pytest.raises(InsufficientPrivilege), estate.connections.transaction(scope) as rows:
                rows.execute(sql.SQL("DELETE FROM {}").format(name))
        column = "conversation_id" if hangs else "organisation_id"
        update = sql.SQL("UPDATE {} SET {} = {}").format(name, *[sql.Identifier(column)] * 2)
        try:
            with estate.connections.transaction(other) as rows:
                assert rows.execute(update).rowcount == 0, table
        except InsufficientPrivilege:
            continue


@pytest.mark.req("A-PROJ-10")
def test_nothing_is_hung_on_a_conversation_its_writer_may_not_enter(estate: Estate) -> None:
    left = replace(estate.ada, project_ids=())
    whose = (estate.conversation_id, left.organisation_id, left.user_id)

    for statement in (DRAFT, ARTIFACT, INTERACTION):
        with pytest.raises(InsufficientPrivilege), estate.connections.transaction(left) as rows:
            rows.execute(statement, whose)


@pytest.mark.req("A-PROJ-06")
def test_a_conversation_cannot_be_given_a_project_its_writer_does_not_belong_to(estate: Estate) -> None:
    ada = build_scope(new_organisation(), "ada", projects=("apollo",))
    mine = settle(estate.database, estate.connections, ada)

    with pytest.raises(InsufficientPrivilege), estate.connections.transaction(ada) as rows:
        rows.execute(
            "UPDATE assistant_conversations SET project_ids = '{apollo,zeus}' WHERE conversation_id = %s",
            (mine.conversation_id,),
        )


@pytest.mark.req("A-PROJ-05", "A-BACK-01")
def test_a_conversation_whose_projects_nobody_knows_is_closed_to_everybody(estate: Estate) -> None:
    ada = build_scope(new_organisation(), "ada", projects=("apollo",))
    mine = settle(estate.database, estate.connections, ada)
    with psycopg.connect(estate.database.superuser_url, autocommit=True) as session:
        session.execute(
            "UPDATE assistant_conversations SET project_scope_known = false WHERE conversation_id = %s",
            (mine.conversation_id,),
        )

    seen = mine.count(ada)
    assert {table for table, hangs in estate.tables.items() if hangs and seen[table]} == set()
    with estate.connections.transaction(ada) as rows:
        opened = rows.execute("UPDATE assistant_conversations SET project_scope_known = true")
        assert opened.rowcount == 0


@pytest.mark.req("A-PROJ-04")
def test_a_new_conversation_knows_its_projects(estate: Estate) -> None:
    with psycopg.connect(estate.database.superuser_url) as session:
        row = session.execute(
            "SELECT project_scope_known, project_ids FROM assistant_conversations WHERE conversation_id = %s",
            (estate.conversation_id,),
        ).fetchone()

    assert row == (True, ["apollo"])


@pytest.mark.req("A-PROJ-10", "R-42")
def test_every_table_that_hangs_on_a_conversation_goes_by_its_projects_and_a_new_one_is_found_out(
    estate: Estate,
) -> None:
    with psycopg.connect(estate.database.superuser_url) as session:
        assert session.execute(UNBOUND).fetchall() == []
        session.execute("CREATE TABLE assistant_notes (conversation_id uuid)")
        session.execute("GRANT SELECT ON assistant_notes TO equerry_runtime")
        assert session.execute(UNBOUND).fetchall() == [("assistant_notes",)]
        session.rollback()


def serve(connections: PostgresConnections, scope: Scope, tables: dict[str, bool]) -> tuple[int, int]:
    """Return which session served somebody, and how many rows they saw in all."""
    with connections.transaction(scope) as rows:
        (session,) = rows.execute("SELECT pg_backend_pid() AS pid").fetchall()
        return session["pid"], sum(count(rows, table) for table in tables)


@pytest.mark.req("A-TEN-01", "A-TEN-02", "F-TENV-01")
def test_two_organisations_on_one_pooled_connection_see_nothing_of_each_other(estate: Estate) -> None:
    connections = estate.database.connect(max_size=1)
    eve = build_scope("globex", "ada", projects=("apollo",))
    tables = estate.tables

    served = [serve(connections, scope, tables) for scope in (estate.ada, eve, estate.ada, eve)]
    connections.close()

    assert len({session for session, _ in served}) == 1
    assert [seen > 0 for _, seen in served] == [True, False, True, False]


@pytest.mark.req("A-TEN-01", "A-TEN-02", "F-TENV-01")
@pytest.mark.parametrize("failure", ["a statement", "our own code", "a session-wide setting"])
def test_a_connection_that_failed_in_mid_transaction_brings_nothing_to_the_next_organisation(
    estate: Estate, failure: str
) -> None:
    connections = estate.database.connect(max_size=1)
    eve = build_scope("globex", "ada", projects=("apollo",))
    tables = estate.tables
    before, seen_before = serve(connections, estate.ada, tables)

    def fail() -> None:
        with connections.transaction(estate.ada) as rows:
            count(rows, "assistant_conversations")
            if failure == "a session-wide setting":
                rows.execute("SELECT set_config('app.organisation_id', 'acme', false)")
            if failure == "our own code":
                raise Unavailable("ours")
            rows.execute("SELECT * FROM no_such_table")

    with pytest.raises((UndefinedTable, Unavailable)):
        fail()
    after, seen = serve(connections, eve, tables)
    with connections.across_tenants() as rows:
        left = rows.execute("SELECT equerry_organisation() AS o, equerry_user() AS u").fetchone()
    connections.close()

    assert (before, seen_before > 0) == (after, True)
    assert (seen, left) == (0, {"o": None, "u": None})


@pytest.mark.req("A-PROJ-07", "A-PROJ-08", "A-PROJ-09")
def test_the_directory_is_asked_before_each_transaction_and_without_it_nothing_is_read(
    estate: Estate,
) -> None:
    directory = MemoryDirectoryAdapter()
    connections = PostgresConnections(lambda: estate.database.address("equerry_runtime"), directory=directory)
    transcripts = PostgresTranscriptAdapter(connections)
    # What the token says counts for nothing where there is a directory.
    ada = replace(estate.ada, project_ids=(ProjectId("apollo"), ProjectId("zeus")))

    def is_there() -> bool:
        return bool(transcripts.list_conversations(ada, limit=5))

    assert not is_there()
    directory.join(ada, "apollo")
    assert is_there()
    directory.leave(ada, "apollo")
    assert not is_there()
    directory.join(ada, "apollo")
    assert is_there()
    directory.reachable = False
    with pytest.raises(Unavailable):
        is_there()
    with connections.keeping(ada) as rows:
        assert count(rows, "assistant_conversations") == 1
    connections.close()


@pytest.mark.req("A-TEN-03", "A-PROJ-10")
def test_a_draft_in_anothers_conversation_is_there_for_who_was_asked_and_in_its_projects(
    estate: Estate,
) -> None:
    ada = build_scope(new_organisation(), "ada", projects=("apollo",))
    home = settle(estate.database, estate.connections, ada)
    ben = build_scope(ada.organisation_id, "ben", projects=("apollo",))
    with estate.connections.transaction(ben) as rows:
        rows.execute(DRAFT, (home.conversation_id, ben.organisation_id, ben.user_id))

    def drafts(scope: Scope) -> int:
        with estate.connections.transaction(scope) as rows:
            return count(rows, "assistant_drafts")

    assert (drafts(ben), drafts(ada)) == (1, 1)
    assert drafts(replace(ben, project_ids=())) == 0
    assert drafts(build_scope(ada.organisation_id, "root", role="admin", projects=("apollo",))) == 0


@pytest.mark.req("A-DATA-06", "A-DATA-14")
def test_a_draft_comes_of_a_call_or_of_a_proposal_and_only_an_accepted_one_is_gone_on_from(
    estate: Estate,
) -> None:
    ada = build_scope(new_organisation(), "ada", projects=("apollo",))
    home = settle(estate.database, estate.connections, ada)
    whose = (home.conversation_id, ada.organisation_id, ada.user_id)

    for wrong in ("'model'", "''"):
        with pytest.raises(CheckViolation), estate.connections.transaction(ada) as rows:
            rows.execute(DRAFT.replace("'tool_call'", wrong), whose)
    with pytest.raises(CheckViolation), estate.connections.transaction(ada) as rows:
        rows.execute("UPDATE assistant_drafts SET continuation_pending = true")
    with estate.connections.transaction(ada) as rows:
        rows.execute(DRAFT.replace("tool_call", "advisory_formalize"), whose)
        accepted = rows.execute(
            "UPDATE assistant_drafts SET status = 'accepted', continuation_pending = true"
            " WHERE source = 'tool_call' RETURNING continuation_pending"
        ).fetchall()
    assert accepted == [{"continuation_pending": True}]

"""The backfill of projects: nothing with weak connections, everything with strong ones, once."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from equerry.adapters.postgres.backfill import backfill_projects
from equerry.adapters.postgres.migrations import apply_migrations
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.domain.principal import Scope
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ConversationId, ProjectId
from typer.testing import CliRunner

from local.cli.backfill_commands import ASSISTANT, PRODUCT
from local.cli.main import app
from local.postgres import EmbeddedPostgres
from tests.contract.databases import MIGRATIONS, Database, build_database, build_scope

pytestmark = pytest.mark.postgres

BEFORE = "0009.conversation_context"
OLD = """
INSERT INTO assistant_conversations
    (conversation_id, organisation_id, created_by, profile, title, created_at, updated_at)
VALUES (%s, %s, 'ada', 'docs', 'old', now(), now())
"""
PROJECTS = {"acme": ("apollo", "gaia"), "globex": ("zeus",), "empty": ()}
QUERY = "SELECT organisation_id, id FROM projects"


@dataclass(frozen=True)
class Site:
    """A database of the assistant's with conversations from before, and the product's own."""

    assistant: Database
    product: Database
    old: dict[str, list[ConversationId]]

    def run(self, *words: str, assistant: str | None = None, product: str | None = None) -> tuple[int, str]:
        environ = {
            ASSISTANT: assistant if assistant is not None else self.assistant.superuser_url,
            PRODUCT: product if product is not None else self.product.superuser_url,
        }
        done = CliRunner().invoke(app, ["backfill", "projects", "--query", QUERY, *words], env=environ)
        return done.exit_code, done.stdout

    def known(self) -> int:
        with psycopg.connect(self.assistant.superuser_url) as session:
            row = session.execute(
                "SELECT count(*) FROM assistant_conversations WHERE project_scope_known"
            ).fetchone()
            assert row is not None
            return int(row[0])

    def opens(self, scope: Scope, conversation_id: ConversationId) -> bool:
        connections = self.assistant.connect()
        try:
            PostgresTranscriptAdapter(connections).fetch_conversation(scope, conversation_id)
        except NotFound:
            return False
        finally:
            connections.close()
        return True


@pytest.fixture
def site(postgres: EmbeddedPostgres, tmp_path: Path) -> Site:
    assistant = build_database(postgres, migrate=False)
    copied = tmp_path / "migrations"
    copied.mkdir()
    for file in sorted(MIGRATIONS.glob("*.sql")):
        if file.stem <= BEFORE:
            (copied / file.name).write_text(file.read_text())
    apply_migrations(assistant.owner_url, copied)
    old = {name: [ConversationId(str(uuid4())) for _ in range(3)] for name in PROJECTS}
    with psycopg.connect(assistant.superuser_url) as session:
        for name, ids in old.items():
            session.cursor().executemany(OLD, [(conversation_id, name) for conversation_id in ids])
    apply_migrations(assistant.owner_url, MIGRATIONS)
    product = build_database(postgres, migrate=False)
    with psycopg.connect(product.superuser_url) as session:
        session.execute("CREATE TABLE projects (organisation_id text, id text)")
        session.execute("ALTER TABLE projects ENABLE ROW LEVEL SECURITY")
        session.execute("GRANT SELECT ON projects TO equerry_owner")
        for organisation, projects in PROJECTS.items():
            for project in projects:
                session.execute("INSERT INTO projects VALUES (%s, %s)", (organisation, project))
    return Site(assistant, product, old)


def member(organisation: str, *projects: str) -> Scope:
    return build_scope(organisation, "ada", projects=projects)


@pytest.mark.req("A-BACK-03", "A-BACK-04")
@pytest.mark.parametrize("weak", ["assistant", "product", "both"])
def test_with_a_weak_connection_not_one_row_is_changed(site: Site, weak: str) -> None:
    assistant = site.assistant.owner_url if weak in ("assistant", "both") else None
    product = site.product.owner_url if weak in ("product", "both") else None

    code, said = site.run(assistant=assistant, product=product)

    assert code != 0
    assert "conversationsBackfilled" not in said
    assert site.known() == 0


@pytest.mark.req("A-BACK-05")
@pytest.mark.parametrize("missing", [ASSISTANT, PRODUCT])
def test_without_one_of_the_two_addresses_nothing_is_begun(site: Site, missing: str) -> None:
    given = {"assistant": "" if missing == ASSISTANT else None, "product": "" if missing == PRODUCT else None}

    code, _ = site.run(**given)

    assert code != 0
    assert site.known() == 0


def test_a_query_that_finds_no_project_opens_nothing_unless_it_is_meant(site: Site) -> None:
    code, _ = site.run("--query", "SELECT 'a', 'b' WHERE false")
    assert (code != 0, site.known()) == (True, 0)

    code, said = site.run("--query", "SELECT 'a', 'b' WHERE false", "--no-projects")
    assert (code, json.loads(said)) == (0, {"organisations": 3, "conversationsBackfilled": 9})
    assert site.opens(member("acme"), site.old["acme"][0])


@pytest.mark.parametrize("before", ["", "COMMIT; "])
def test_a_query_that_would_write_is_refused(site: Site, before: str) -> None:
    writes = "INSERT INTO projects VALUES ('acme', 'x') RETURNING organisation_id, id"

    code, _ = site.run("--query", before + writes)

    assert code != 0
    assert site.known() == 0
    with psycopg.connect(site.product.superuser_url) as session:
        assert session.execute("SELECT count(*) FROM projects").fetchone() == (3,)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, organisation_id FROM projects",
        "SELECT 'acme'",
        "SELECT 'acme', 'apollo', 'gaia'",
        "SELECT 'acme', null",
        "SELECT 'acme', 'apollo,gaia'",
        "SELECT 'acme', ''",
        "SELECT null, 'apollo'",
    ],
)
def test_a_query_of_something_else_opens_nothing_and_closes_nothing_for_good(site: Site, query: str) -> None:
    code, said = site.run("--query", query)

    assert (code, said, site.known()) == (1, "", 0)


@pytest.mark.req("A-BACK-01", "A-BACK-02", "A-BACK-07", "A-PROJ-04", "A-PROJ-05")
def test_what_is_old_is_closed_and_then_open_to_members_of_all_its_organisation_s_projects(
    site: Site,
) -> None:
    first = {name: ids[0] for name, ids in site.old.items()}
    everything = member("acme", "apollo", "gaia")
    assert not site.opens(everything, first["acme"])
    assert not site.opens(member("empty"), first["empty"])

    code, said = site.run()

    assert code == 0
    assert json.loads(said) == {"organisations": 3, "conversationsBackfilled": 9}
    assert site.opens(everything, first["acme"])
    assert not site.opens(member("acme", "apollo"), first["acme"])
    assert not site.opens(replace(everything, user_id=build_scope("acme", "ben").user_id), first["acme"])
    assert site.opens(member("globex", "zeus"), first["globex"])
    assert site.opens(member("empty"), first["empty"])


@pytest.mark.req("A-BACK-06")
def test_a_run_that_died_is_taken_up_where_it_stopped_and_a_third_finds_nothing(
    site: Site,
) -> None:
    told: list[int] = []

    def die(so_far: int) -> None:
        told.append(so_far)
        if so_far == 4:
            raise KeyboardInterrupt

    with (
        psycopg.connect(site.assistant.superuser_url, autocommit=True) as assistant,
        psycopg.connect(site.product.superuser_url, autocommit=True) as product,
    ):
        with pytest.raises(KeyboardInterrupt):
            backfill_projects(assistant, product, query=QUERY, batch_size=2, report=die)
        assert (told, site.known()) == ([2, 4], 4)
        again = backfill_projects(assistant, product, query=QUERY)
        third = backfill_projects(assistant, product, query=QUERY)

    assert again.conversations == 5
    assert (third.organisations, third.conversations) == (0, 0)


@pytest.mark.req("A-BACK-06")
def test_a_conversation_that_knows_its_projects_keeps_them(site: Site) -> None:
    kept = site.old["acme"][0]
    with psycopg.connect(site.assistant.superuser_url, autocommit=True) as session:
        session.execute(
            "UPDATE assistant_conversations SET project_scope_known = true, project_ids = '{apollo}'"
            " WHERE conversation_id = %s",
            (kept,),
        )

    _, said = site.run()

    assert json.loads(said) == {"organisations": 3, "conversationsBackfilled": 8}
    assert site.opens(build_scope("acme", "ada", projects=(ProjectId("apollo"),)), kept)

"""The search functions against the policies they stand in for, and the plans they get."""

import math
import random
from collections.abc import Iterator

import psycopg
import pytest
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.search import PostgresLexicalIndexAdapter, PostgresVectorStoreAdapter
from equerry.adapters.postgres.vectors import format_vector
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import CorpusId

from local.postgres import EmbeddedPostgres
from tests.contract.databases import Database, build_database, build_scope

pytestmark = pytest.mark.postgres

CORPORA = ("handbook", "minutes", "secret")
READERS = ("organisation", "user:ada", "user:ben", "project:apollo", "project:zeus")
WORDS = ("key", "rotate", "budget", "apollo", "minutes", "plan", "invoice", "backup")
ORGANISATIONS = ("north", "south", "east")
ROWS = 4000
DOCUMENTS = """
INSERT INTO assistant_documents
    (document_id, organisation_id, corpus_id, path, title, status, sha256, size_bytes, visible_to)
SELECT gen_random_uuid(), organisation_id, corpus_id, 'a.md', 'A', 'published', '', 0, '{organisation}'
FROM assistant_corpora
"""
PASSAGE = """
INSERT INTO assistant_passages
    (organisation_id, corpus_id, document_id, version, ordinal, title, source_path, heading_path, text,
     token_count, hash, embedding, embedding_version, visible_to, superseded_at, withdrawn_at)
SELECT organisation_id, corpus_id, document_id, 1, %s, 'A', 'a.md', '{}', %s,
    5, 'h', %s::vector, %s, %s, %s, %s
FROM assistant_documents WHERE organisation_id = %s AND corpus_id = %s
"""


@pytest.fixture(scope="module")
def filled(postgres: EmbeddedPostgres) -> Database:
    """Generated passages of several tenants and readers, some superseded or withdrawn."""
    database = build_database(postgres)
    generate = random.Random(7)  # noqa: S311  # the same data every time
    with psycopg.connect(database.superuser_url) as session:
        session.execute(
            "INSERT INTO assistant_corpora (organisation_id, corpus_id)"
            " SELECT * FROM unnest(%s::text[]) AS o, unnest(%s::text[]) AS c",
            (list(ORGANISATIONS), list(CORPORA)),
        )
        session.execute(DOCUMENTS)
        graph = session.execute("SELECT pg_get_indexdef('assistant_passages_embedding'::regclass)").fetchone()
        assert graph is not None
        session.execute(
            "DROP INDEX assistant_passages_embedding"
        )  # built at once, it takes a tenth of the time
        session.cursor().executemany(PASSAGE, [build_row(generate, place) for place in range(ROWS)])
        session.execute(graph[0])
    with psycopg.connect(database.superuser_url, autocommit=True) as session:
        session.execute("VACUUM ANALYZE assistant_passages")
    return database


def build_row(generate: random.Random, place: int) -> tuple[object, ...]:
    withdrawn = generate.random() < 0.05
    superseded = withdrawn or generate.random() < 0.1
    return (
        place,
        " ".join((*generate.choices(WORDS, k=generate.randint(1, 6)), f"only{place}")),
        format_vector(build_random_vector(generate)),
        generate.choice(("model-1", "model-1", "model-1", "model-0")),
        sorted(set(generate.choices(READERS, weights=(6, 1, 1, 2, 1), k=generate.randint(1, 3)))),
        "2026-01-01" if superseded else None,
        "2026-01-02" if withdrawn else None,
        generate.choice(ORGANISATIONS),
        generate.choice(CORPORA),
    )


def build_random_vector(generate: random.Random) -> tuple[float, ...]:
    numbers = [generate.gauss(0, 1) for _ in range(384)]
    length = math.sqrt(sum(number * number for number in numbers))
    return tuple(number / length for number in numbers)


@pytest.fixture(scope="module")
def pool(filled: Database) -> Iterator[PostgresConnections]:
    connections = filled.connect()
    yield connections
    connections.close()


SCOPES = [
    build_scope("north", "ada"),
    build_scope("north", "ben", projects=("apollo",)),
    build_scope("north", "root", role="admin", projects=("apollo", "zeus")),
    build_scope("south", "ada", projects=("zeus", "nothing")),
    build_scope("east", "nobody"),
    build_scope("west", "ada"),
]


def read_through_policy(
    pool: PostgresConnections, scope: Scope, corpora: list[str] | None, condition: str
) -> set[str]:
    with pool.transaction(scope) as rows:
        rows.execute(
            "SELECT passage_id::text FROM assistant_passages WHERE superseded_at IS NULL"
            f" AND (%s::text[] IS NULL OR corpus_id = ANY (%s)) AND {condition}",
            (corpora, corpora),
        )
        return {row["passage_id"] for row in rows}


@pytest.mark.req("F-RPERM-01", "F-RPERM-02", "F-RPERM-04", "F-RPERM-09")
@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: f"{scope.organisation_id}-{scope.user_id}")
@pytest.mark.parametrize("corpora", [["handbook"], ["minutes", "secret"], ["unknown"], None])
def test_both_searches_find_exactly_what_the_policies_allow(
    pool: PostgresConnections, scope: Scope, corpora: list[str] | None
) -> None:
    searched = None if corpora is None else tuple(CorpusId(corpus) for corpus in corpora)
    matching = PostgresLexicalIndexAdapter(pool).find_matching(
        scope, "rotate apollo", corpora=searched, limit=ROWS
    )
    nearest = PostgresVectorStoreAdapter(pool).find_nearest(
        scope,
        build_random_vector(random.Random(1)),  # noqa: S311
        embedding_version="model-1",
        corpora=searched,
        limit=ROWS,
    )

    assert {passage.passage_id for passage, _ in matching} == read_through_policy(
        pool, scope, corpora, "words @@ 'rotat | apollo'"
    )
    assert {passage.passage_id for passage, _ in nearest} == read_through_policy(
        pool, scope, corpora, "embedding_version = 'model-1'"
    )
    assert bool(matching) == (scope.organisation_id in ORGANISATIONS and corpora != ["unknown"])


def explain(database: Database, scope: Scope, call: str, parameters: tuple[object, ...]) -> str:
    """Return the plans of the statements inside a call, as the runtime role gets them."""
    notices: list[str] = []
    with psycopg.connect(database.superuser_url) as session:
        session.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        session.execute("LOAD 'auto_explain'")
        session.execute("SET auto_explain.log_min_duration = 0")
        session.execute("SET auto_explain.log_nested_statements = on")
        session.execute("SET client_min_messages = log")
        session.execute("SET ROLE equerry_runtime")
        session.execute(
            "SELECT set_config('app.organisation_id', %s, true), set_config('app.user_id', %s, true)",
            (scope.organisation_id, scope.user_id),
        )
        session.execute(call, parameters)
    return "\n".join(notice for notice in notices if "assistant_passages" in notice)


def test_the_full_text_search_uses_its_index_although_the_table_is_under_policies(filled: Database) -> None:
    scope = SCOPES[0]

    through_function = explain(
        filled, scope, "SELECT * FROM equerry_find_matching(%s, %s, 10)", ("only77 only78", ["handbook"])
    )
    under_policy = explain(
        filled,
        scope,
        "SELECT passage_id FROM assistant_passages WHERE superseded_at IS NULL AND words @@ %s::tsquery",
        ("'only77'",),
    )

    assert "Bitmap Index Scan on assistant_passages_words" in through_function
    assert "Index Cond: (words @@" in through_function
    assert "assistant_passages_words" not in under_policy


def test_a_narrow_reader_is_served_exactly_and_a_broad_one_by_the_graph(filled: Database) -> None:
    vector = format_vector(build_random_vector(random.Random(2)))  # noqa: S311
    call = "SELECT * FROM equerry_find_nearest(%s::vector, 'model-1', %s, 10)"
    with psycopg.connect(filled.superuser_url) as session:
        rare = (0, "x", vector, "model-1", ["user:rare"], None, None, "east", "minutes")
        session.cursor().executemany(PASSAGE, [rare] * 20)
        session.execute("ANALYZE assistant_passages")

    narrow = explain(filled, build_scope("east", "rare"), call, (vector, ["minutes"]))
    exact = explain(
        filled,
        SCOPES[0],
        "SELECT * FROM equerry_find_nearest_exact(%s::vector, 'model-1', %s, 10)",
        (vector, ["minutes"]),
    )

    assert "Bitmap Index Scan on assistant_passages" in narrow or "assistant_passages_tenant" in narrow
    assert "assistant_passages_embedding" not in exact


def test_a_reader_who_may_see_little_still_gets_all_of_it(pool: PostgresConnections) -> None:
    """The graph alone gives up before it has met the few passages this reader may see."""
    scope = build_scope("south", "ben")
    version = "model-0"
    store = PostgresVectorStoreAdapter(pool)

    for seed in range(5):
        vector = build_random_vector(random.Random(seed))  # noqa: S311
        found = store.find_nearest(
            scope, vector, embedding_version=version, corpora=(CorpusId("secret"),), limit=50
        )
        allowed = read_through_policy(pool, scope, ["secret"], f"embedding_version = '{version}'")
        assert len(found) == min(50, len(allowed))

"""Latency and recall of both searches on generated passages, by how much of them a reader may see.

Also what it would cost to list what a reader may search before each search, at 10,000 documents.

    python -m bench.retrieval [ROWS]      20,000 by default

Recall is measured against the exact scan of the same rows. Times are of whole calls of the adapters, on
whatever machine this runs on; compare lines with each other, not with another machine's.
"""

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import psycopg
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.search import PostgresLexicalIndexAdapter, PostgresVectorStoreAdapter
from equerry.adapters.postgres.vectors import format_vector
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import CorpusId, OrganisationId, ProjectId, UserId

from bench.databases import open_database

CORPUS = CorpusId("bench")
SHARES = {"all": 1.0, "tenth": 0.1, "hundredth": 0.01, "thousandth": 0.001}
QUERIES = 40
LIMIT = 10
DOCUMENTS = 10_000
COLUMNS = (
    "organisation_id, corpus_id, document_id, version, ordinal, title, source_path, heading_path, text,"
    " token_count, hash, embedding, embedding_version, visible_to"
)
DOCUMENT = """
WITH corpus AS (INSERT INTO assistant_corpora (organisation_id, corpus_id) VALUES ('org', 'bench'))
INSERT INTO assistant_documents
    (document_id, organisation_id, corpus_id, path, title, status, sha256, size_bytes, visible_to)
VALUES (gen_random_uuid(), 'org', 'bench', 'a', 'A', 'published', '', 0, '{organisation}')
RETURNING document_id
"""

SPREAD = """
INSERT INTO assistant_documents
    (document_id, organisation_id, corpus_id, path, title, status, sha256, size_bytes, visible_to, passages)
SELECT gen_random_uuid(), 'org', 'c' || n %% 10, 'p' || n, 'A', 'published', '', 0,
    CASE WHEN n %% 4 < 2 THEN ARRAY['organisation'] ELSE ARRAY['project:' || n %% 1000] END, 5
FROM generate_series(1, %s) AS n
"""


def main(rows: int) -> None:
    """Fill, measure, print."""
    generate = np.random.default_rng(11)
    centres = generate.normal(size=(200, 384))
    with open_database() as database:
        fill(database.superuser_url, rows, generate, centres)
        print(f"{rows:,} passages, {QUERIES} queries, limit {LIMIT}; milliseconds p50 / p95")
        print(f"{'reader sees':>14}  {'semantic':>13}  recall@10  {'words, all':>13}  {'words, any':>13}")
        for name, share in SHARES.items():
            vectors = [format_vector(normalise(near(generate, centres))) for _ in range(QUERIES)]
            print(f"{share:>14.1%}  {measure(database.connections, reader(name), vectors, generate)}")
        spread(database.superuser_url)
        documents = PostgresDocumentAdapter(database.connections)
        listing = clock(lambda _: documents.list_corpora(reader("all")), [""] * QUERIES)
        print(f"listing the corpora of {DOCUMENTS:,} documents: {listing}")


def spread(url: str) -> None:
    """Write documents in ten corpora; half of them are everybody's, the rest a project's each."""
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(
            "INSERT INTO assistant_corpora (organisation_id, corpus_id)"
            " SELECT 'org', 'c' || n FROM generate_series(0, 9) AS n"
        )
        session.execute(SPREAD, (DOCUMENTS,))
        session.execute("VACUUM ANALYZE assistant_documents")


def reader(project: str) -> Scope:
    """Return somebody who sees one project's passages."""
    return Scope(
        organisation_id=OrganisationId("org"), user_id=UserId("u"), project_ids=(ProjectId(project),)
    )


def measure(
    connections: PostgresConnections, scope: Scope, vectors: list[str], generate: np.random.Generator
) -> str:
    """Return one line of results."""
    store, words = PostgresVectorStoreAdapter(connections), PostgresLexicalIndexAdapter(connections)
    parsed = [tuple(float(number) for number in vector[1:-1].split(",")) for vector in vectors]
    recalls, near_ms = [], []
    for text, vector in zip(vectors, parsed, strict=True):
        started = time.perf_counter()
        found = store.find_nearest(scope, vector, embedding_version="b", corpora=(CORPUS,), limit=LIMIT)
        near_ms.append(1000 * (time.perf_counter() - started))
        with connections.transaction(scope) as rows:
            rows.execute(
                "SELECT passage_id::text AS id FROM equerry_find_nearest_exact(%s::vector, 'b', %s, %s)",
                (text, [CORPUS], LIMIT),
            )
            exact = {row["id"] for row in rows}
        recalls.append(len(exact & {passage.passage_id for passage, _ in found}) / max(len(exact), 1))
    every = [f"common{generate.integers(20)} rare{generate.integers(2000)}" for _ in range(QUERIES)]
    some = [
        " ".join(f"common{n}" for n in generate.integers(20, size=6)) + " unheard" for _ in range(QUERIES)
    ]
    asked = [
        clock(lambda query: words.find_matching(scope, query, corpora=(CORPUS,), limit=LIMIT), queries)
        for queries in (every, some)
    ]
    return f"{percentiles(near_ms)}  {statistics.fmean(recalls):9.3f}  {asked[0]}  {asked[1]}"


def clock(search: Callable[[str], object], queries: list[str]) -> str:
    """Return the percentiles of a search over queries."""
    taken = []
    for query in queries:
        started = time.perf_counter()
        search(query)
        taken.append(1000 * (time.perf_counter() - started))
    return percentiles(taken)


def percentiles(taken: list[float]) -> str:
    """Return p50 and p95."""
    cuts = statistics.quantiles(taken, n=20)
    return f"{cuts[9]:5.1f} / {cuts[18]:5.1f}"


def fill(url: str, rows: int, generate: np.random.Generator, centres: "np.ndarray") -> None:
    """Write passages around common centres, with words of Zipf-like frequency and nested readers."""
    with psycopg.connect(url) as session:
        found = session.execute(DOCUMENT).fetchone()
        graph = session.execute("SELECT pg_get_indexdef('assistant_passages_embedding'::regclass)").fetchone()
        assert found is not None
        assert graph is not None
        session.execute("DROP INDEX assistant_passages_embedding")
        with session.cursor().copy(f"COPY assistant_passages ({COLUMNS}) FROM STDIN") as copy:
            for place in range(rows):
                readers = [f"project:{name}" for name, share in SHARES.items() if place % int(1 / share) == 0]
                text = " ".join(
                    [f"common{n}" for n in generate.integers(20, size=6)]
                    + [f"rare{n}" for n in generate.integers(2000, size=20)]
                )
                vector = format_vector(normalise(near(generate, centres)))
                copy.write_row(
                    ("org", "bench", found[0], 1, place, "A", "a", [], text, 26, "h", vector, "b", readers)
                )
        session.execute(graph[0])
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("VACUUM ANALYZE assistant_passages")


def near(generate: np.random.Generator, centres: "np.ndarray") -> "np.ndarray":
    """Return a point near one of the centres."""
    return np.asarray(centres[generate.integers(len(centres))] + 0.8 * generate.normal(size=centres.shape[1]))


def normalise(vector: "np.ndarray") -> tuple[float, ...]:
    """Return the vector with length 1."""
    return tuple((vector / np.linalg.norm(vector)).tolist())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)

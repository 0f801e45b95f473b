"""Whether retrieval is whole after a restore: the index is made again from PostgreSQL alone, and asked."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from equerry.adapters.extraction.by_suffix import SuffixExtractionAdapter
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.search import PostgresLexicalIndexAdapter, PostgresVectorStoreAdapter
from equerry.adapters.postgres.vectors import format_vector
from equerry.domain.chunking import chunk_sections, describe_chunk
from equerry.domain.corpora import EVERYONE, Chunk, SourceFile
from equerry.domain.principal import Scope
from equerry.evaluation.labelled_set import LabelledQuestion, RetrievalScores, evaluate_retrieval
from equerry.kernel.identifiers import CorpusId, OrganisationId, UserId
from equerry.ports.documents import Publication
from equerry.ports.embedding import EmbeddingPort

from local.places import ROOT
from local.postgres import find_binaries

CORPUS = CorpusId("docs")
ADMIN = Scope(organisation_id=OrganisationId("drill"), user_id=UserId("root"), role="admin")
BATCH = 64
TAKE_AWAY = (
    "DROP INDEX assistant_passages_embedding, assistant_passages_words",
    "ALTER TABLE assistant_passages DROP COLUMN embedding, DROP COLUMN words",
)
# As the migrations have them.
REBUILD = (
    "ALTER TABLE assistant_passages ALTER COLUMN embedding SET NOT NULL",
    """ALTER TABLE assistant_passages ADD COLUMN words tsvector NOT NULL
        GENERATED ALWAYS AS (equerry_index_words(title, heading_path, text)) STORED""",
    """CREATE INDEX assistant_passages_words ON assistant_passages USING gin (words)
        WHERE superseded_at IS NULL""",
    """CREATE INDEX assistant_passages_embedding ON assistant_passages
        USING hnsw (embedding vector_cosine_ops) WHERE superseded_at IS NULL""",
    "ANALYZE assistant_passages",
)


@dataclass(frozen=True)
class Asked:
    """What a database answered: the found passages of every question, by search."""

    semantic: Mapping[str, list[str]]
    lexical: Mapping[str, list[str]]


def index_documents(
    connections: PostgresConnections, embedding: EmbeddingPort, paths: Sequence[Path]
) -> list[LabelledQuestion]:
    """Publish documents of this project's and return a question for every heading."""
    documents, cases = PostgresDocumentAdapter(connections), dict[str, set[str]]()
    for path in paths:
        name, content = path.relative_to(ROOT).as_posix(), path.read_bytes()
        title, sections = SuffixExtractionAdapter().extract(content, path=name)
        chunks = chunk_sections(title, sections)
        file = SourceFile(path=name, sha256=name, size_bytes=len(content), visible_to=(EVERYONE,))
        (announced,) = documents.announce(ADMIN, CORPUS, [file], pipeline_version="drill")
        vectors = embedding.embed_passages([describe_chunk(title, chunk) for chunk in chunks])
        documents.publish(
            ADMIN.organisation_id,
            Publication(
                document_id=announced.document_id,
                sha256=name,
                title=title,
                chunks=chunks,
                vectors=vectors,
                embedding_version=embedding.version,
                pipeline_version="drill",
                embedded=len(vectors),
            ),
        )
        for chunk in chunks:
            if chunk.heading_path:
                cases.setdefault(" ".join(chunk.heading_path), set()).add(chunk.text)
    return [
        LabelledQuestion(case_id=heading, question=heading, expected=frozenset(texts))
        for heading, texts in cases.items()
    ]


def ask(connections: PostgresConnections, embedding: EmbeddingPort, cases: list[LabelledQuestion]) -> Asked:
    """Return what both searches find for every question, best first."""
    near, matching = PostgresVectorStoreAdapter(connections), PostgresLexicalIndexAdapter(connections)
    semantic, lexical = dict[str, list[str]](), dict[str, list[str]]()
    for case in cases:
        found = near.find_nearest(
            ADMIN,
            embedding.embed_query(case.question),
            embedding_version=embedding.version,
            corpora=(CORPUS,),
            limit=10,
        )
        semantic[case.question] = [passage.text for passage, _ in found]
        words = matching.find_matching(ADMIN, case.question, corpora=(CORPUS,), limit=10)
        lexical[case.question] = [passage.text for passage, _ in words]
    return Asked(semantic, lexical)


def restore(superuser_url: str, name: str, dump: Path) -> str:
    """Dump a database and restore it into an empty one of the same server; return its address."""
    programs = find_binaries()
    subprocess.run(
        [programs / "pg_dump", "--format=custom", "--file", dump, "--dbname", superuser_url], check=True
    )
    with psycopg.connect(superuser_url, autocommit=True) as session:
        session.execute(f"CREATE DATABASE {name} OWNER equerry_owner")
    restored_url = urlsplit(superuser_url)._replace(path=f"/{name}").geturl()
    subprocess.run([programs / "pg_restore", "--dbname", restored_url, dump], check=True)
    return restored_url


def rebuild(restored_url: str, embedding: EmbeddingPort) -> int:
    """Take away everything rebuildable, make it again from the passages' text; return how many there are."""
    with psycopg.connect(restored_url, autocommit=True) as session:
        for statement in TAKE_AWAY:
            session.execute(statement)
        session.execute(f"ALTER TABLE assistant_passages ADD COLUMN embedding vector({embedding.dimensions})")
        rows = session.execute(
            "SELECT passage_id, title, heading_path, text, ordinal, token_count, hash FROM assistant_passages"
        ).fetchall()
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            vectors = embedding.embed_passages([_describe(*row[1:]) for row in batch])
            with session.cursor() as cursor:
                cursor.executemany(
                    "UPDATE assistant_passages SET embedding = %s::vector WHERE passage_id = %s",
                    [(format_vector(vector), row[0]) for vector, row in zip(vectors, batch, strict=True)],
                )
        for statement in REBUILD:
            session.execute(statement)
    return len(rows)


def _describe(title: str, heading_path: list[str], text: str, ordinal: int, tokens: int, digest: str) -> str:
    chunk = Chunk(
        ordinal=ordinal, heading_path=tuple(heading_path), text=text, token_count=tokens, hash=digest
    )
    return describe_chunk(title, chunk)


def score(cases: Sequence[LabelledQuestion], asked: Asked) -> Mapping[str, RetrievalScores]:
    """Return both searches' scores, by search."""
    found = {"semantic": asked.semantic, "lexical": asked.lexical}
    return {name: evaluate_retrieval(cases, ranked.__getitem__, k=10) for name, ranked in found.items()}

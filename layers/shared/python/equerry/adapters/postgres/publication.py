"""Replacing a document's passages: the statements behind DocumentPort.publish."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from equerry.adapters.postgres.vectors import format_vector
from equerry.domain.corpora import Chunk
from equerry.ports.documents import Publication
from equerry.ports.embedding import Vector

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

Row = dict[str, Any]

_CURRENT = """
SELECT passage_id, hash, ordinal, title, embedding_version, visible_to FROM assistant_passages
WHERE document_id = %s AND superseded_at IS NULL ORDER BY ordinal
"""
_KEEP = "UPDATE assistant_passages SET ordinal = %s, title = %s, visible_to = %s WHERE passage_id = %s"
_INSERT = """
INSERT INTO assistant_passages
    (organisation_id, corpus_id, document_id, version, ordinal, title, source_path, heading_path, text,
     token_count, hash, embedding, embedding_version, visible_to)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::vector, %s, %s)
"""
_PUBLISHED = """
UPDATE assistant_documents
SET status = 'published', reason = NULL, title = %s, version = %s, passages = %s, embedded = %s,
    published_sha256 = sha256, published_pipeline = %s, updated_at = now()
WHERE document_id = %s
"""


def write_publication(rows: "Rows", document: Row, publication: Publication) -> None:
    """Replace the passages of a document whose row the caller holds; unchanged ones keep their identity."""
    kept, added, gone = _compare(_fetch_current(rows, document), publication)
    rows.executemany(_KEEP, list(_changed_rows(document, publication, kept)))
    rows.execute(
        "UPDATE assistant_passages SET superseded_at = now() WHERE passage_id = ANY (%s)",
        ([row["passage_id"] for row in gone],),
    )
    rows.executemany(_INSERT, [_new_row(document, publication, chunk, vector) for chunk, vector in added])
    counts = (document["version"] + 1, len(publication.chunks), publication.embedded)
    rows.execute(
        _PUBLISHED, (publication.title, *counts, publication.pipeline_version, document["document_id"])
    )


def _fetch_current(rows: "Rows", document: Row) -> list[Row]:
    rows.execute(_CURRENT, (document["document_id"],))
    return rows.fetchall()


def _compare(
    current: list[Row], publication: Publication
) -> tuple[list[tuple[Row, Chunk]], list[tuple[Chunk, Vector]], list[Row]]:
    """Pair chunks with the passages that hold them already; a repeated chunk pairs with one each."""
    waiting: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in reversed(current):
        waiting[row["hash"], row["embedding_version"]].append(row)
    kept, added = [], []
    for chunk, vector in zip(publication.chunks, publication.vectors, strict=True):
        same = waiting[chunk.hash, publication.embedding_version]
        if same:
            kept.append((same.pop(), chunk))
        else:
            added.append((chunk, vector))
    return kept, added, [row for rows in waiting.values() for row in rows]


def _changed_rows(
    document: Row, publication: Publication, kept: list[tuple[Row, Chunk]]
) -> Iterator[tuple[object, ...]]:
    for row, chunk in kept:
        wanted = (chunk.ordinal, publication.title, document["visible_to"])
        if (row["ordinal"], row["title"], row["visible_to"]) != wanted:
            yield (*wanted, row["passage_id"])


def _new_row(document: Row, publication: Publication, chunk: Chunk, vector: Vector) -> tuple[object, ...]:
    return (
        document["organisation_id"],
        document["corpus_id"],
        document["document_id"],
        document["version"] + 1,
        chunk.ordinal,
        publication.title,
        document["path"],
        list(chunk.heading_path),
        chunk.text,
        chunk.token_count,
        chunk.hash,
        format_vector(vector),
        publication.embedding_version,
        document["visible_to"],
    )

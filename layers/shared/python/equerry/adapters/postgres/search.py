"""The two indexes in PostgreSQL, each behind a function that filters before it ranks."""

from dataclasses import dataclass
from typing import Any

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.identifiers import as_uuid
from equerry.adapters.postgres.vectors import format_vector
from equerry.domain.corpora import Passage
from equerry.domain.principal import Scope
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import CorpusId, DocumentId, PassageId, ProjectId
from equerry.ports.embedding import Vector

Scored = tuple[tuple[Passage, float], ...]

_COLUMNS = """
passage.passage_id, passage.document_id, passage.corpus_id, passage.title, passage.heading_path, passage.text,
passage.source_path, passage.version, passage.token_count,
equerry_shared_projects(passage.visible_to) AS project_ids
"""
# The join reads each passage through its policy once more, by primary key.
_JOIN = " WITH ORDINALITY AS found JOIN assistant_passages AS passage USING (passage_id) ORDER BY ordinality"
_SELECT = f"SELECT {_COLUMNS}, found.score FROM "  # noqa: S608  # our columns
_NEAREST = _SELECT + "equerry_find_nearest(%s::vector, %s, %s, %s)" + _JOIN
_EXACT = _SELECT + "equerry_find_nearest_exact(%s::vector, %s, %s, %s)" + _JOIN
_MATCHING = _SELECT + "equerry_find_matching(%s, %s, %s)" + _JOIN


@dataclass(frozen=True, slots=True)
class PostgresVectorStoreAdapter:
    """VectorStorePort over pgvector: the graph where it serves, an exact scan where it does not."""

    connections: PostgresConnections

    def find_nearest(
        self,
        scope: Scope,
        vector: Vector,
        *,
        embedding_version: str,
        corpora: tuple[CorpusId, ...] | None,
        limit: int,
    ) -> Scored:
        """See VectorStorePort."""
        if corpora == ():
            return ()
        parameters = (format_vector(vector), embedding_version, _name(corpora), limit)
        with self.connections.transaction(scope) as rows:
            found = _scored(rows.execute(_NEAREST, parameters).fetchall())
            if len(found) < limit:
                # The graph may have given up early; if there are no more, this reads only those few.
                found = _scored(rows.execute(_EXACT, parameters).fetchall())
            return found


@dataclass(frozen=True, slots=True)
class PostgresLexicalIndexAdapter:
    """LexicalIndexPort over full-text search; scores lie in (0, 1].

    Attributes:
        within_s: a search that takes longer is given up as Unavailable; None for whoever can wait.
    """

    connections: PostgresConnections
    within_s: float | None = None

    def find_matching(
        self, scope: Scope, query: str, *, corpora: tuple[CorpusId, ...] | None, limit: int
    ) -> Scored:
        """See LexicalIndexPort."""
        if corpora == ():
            return ()
        words = query.replace("\0", " ")
        with self.connections.transaction(scope, within_s=self.within_s) as rows:
            return _scored(rows.execute(_MATCHING, (words, _name(corpora), limit)).fetchall())


@dataclass(frozen=True, slots=True)
class PostgresPassageAdapter:
    """PassagePort."""

    connections: PostgresConnections

    def fetch_passage(self, scope: Scope, passage_id: PassageId) -> Passage:
        """See PassagePort."""
        with self.connections.transaction(scope) as rows:
            rows.execute(
                f"SELECT {_COLUMNS} FROM assistant_passages AS passage WHERE passage_id = %s",  # noqa: S608  # our columns
                (as_uuid(passage_id, name="passage"),),
            )
            row = rows.fetchone()
            if row is None:
                raise NotFound("there is no such passage")
            return _passage(row)


def _name(corpora: tuple[CorpusId, ...] | None) -> list[CorpusId] | None:
    return None if corpora is None else list(corpora)


def _scored(rows: list[dict[str, Any]]) -> Scored:
    return tuple((_passage(row), row["score"]) for row in rows)


def _passage(row: dict[str, Any]) -> Passage:
    same = ("corpus_id", "title", "text", "source_path", "version", "token_count")
    return Passage(
        passage_id=PassageId(str(row["passage_id"])),
        document_id=DocumentId(str(row["document_id"])),
        heading_path=tuple(row["heading_path"]),
        project_ids=tuple(ProjectId(project) for project in row["project_ids"]),
        **{name: row[name] for name in same},
    )

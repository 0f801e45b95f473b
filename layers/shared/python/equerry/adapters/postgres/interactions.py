"""Interactions and artifact records in PostgreSQL."""

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.identifiers import as_uuid
from equerry.domain.principal import Scope
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ArtifactId, ConversationId, RunId
from equerry.ports.interactions import ArtifactSummary, Interaction

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

_INSERT = """
INSERT INTO assistant_interactions
    (interaction_id, conversation_id, organisation_id, created_by, run_id, kind, bucket, about, details,
     created_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s::jsonb, %s)
ON CONFLICT (interaction_id) DO NOTHING
"""
_INSERT_ARTIFACT = """
INSERT INTO assistant_artifacts
    (artifact_id, conversation_id, organisation_id, created_by, run_id, kind, title, size_bytes, created_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (artifact_id) DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class PostgresInteractionAdapter:
    """InteractionPort; rows are appended and never changed."""

    connections: PostgresConnections

    def record_interaction(self, scope: Scope, interaction: Interaction) -> None:
        """See InteractionPort."""
        with self.connections.transaction(scope) as rows:
            _require_conversation(rows, interaction.conversation_id)
            rows.execute(
                _INSERT,
                (
                    as_uuid(interaction.interaction_id, name="interaction"),
                    as_uuid(interaction.conversation_id, name="conversation"),
                    scope.organisation_id,
                    scope.user_id,
                    as_uuid(interaction.run_id, name="run") if interaction.run_id else None,
                    interaction.kind,
                    interaction.bucket,
                    interaction.about,
                    json.dumps(dict(interaction.details)),
                    interaction.at,
                ),
            )


@dataclass(frozen=True, slots=True)
class PostgresArtifactAdapter:
    """ArtifactPort.

    Attributes:
        keeps: for those who run turns, also when their person has left a project; others read as they may.
    """

    connections: PostgresConnections
    keeps: bool = False

    def record_artifact(
        self, scope: Scope, conversation_id: ConversationId, artifact: ArtifactSummary
    ) -> None:
        """See ArtifactPort."""
        with self._begin(scope) as rows:
            _require_conversation(rows, conversation_id)
            rows.execute(
                _INSERT_ARTIFACT,
                (
                    as_uuid(artifact.artifact_id, name="artifact"),
                    as_uuid(conversation_id, name="conversation"),
                    scope.organisation_id,
                    scope.user_id,
                    as_uuid(artifact.run_id, name="run"),
                    artifact.kind,
                    artifact.title,
                    artifact.size_bytes,
                    artifact.created_at,
                ),
            )

    def list_artifacts(self, scope: Scope, conversation_id: ConversationId) -> tuple[ArtifactSummary, ...]:
        """See ArtifactPort."""
        with self._begin(scope) as rows:
            _require_conversation(rows, conversation_id)
            rows.execute(
                "SELECT * FROM assistant_artifacts WHERE conversation_id = %s"
                " ORDER BY created_at, artifact_id",
                (as_uuid(conversation_id, name="conversation"),),
            )
            return tuple(
                ArtifactSummary(
                    artifact_id=ArtifactId(str(row["artifact_id"])),
                    run_id=RunId(str(row["run_id"])),
                    kind=row["kind"],
                    title=row["title"],
                    size_bytes=row["size_bytes"],
                    created_at=row["created_at"],
                )
                for row in rows
            )

    def _begin(self, scope: Scope) -> AbstractContextManager["Rows"]:
        return self.connections.keeping(scope) if self.keeps else self.connections.transaction(scope)


def _require_conversation(rows: "Rows", conversation_id: ConversationId) -> None:
    rows.execute(
        "SELECT 1 FROM assistant_conversations WHERE conversation_id = %s",
        (as_uuid(conversation_id, name="conversation"),),
    )
    if rows.fetchone() is None:
        raise NotFound("there is no such conversation")

"""Artifacts' bodies, for whoever may read their conversation."""

from dataclasses import dataclass

from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ArtifactId, ConversationId
from equerry.ports.artifacts import ArtifactKey, ArtifactStorePort
from equerry.ports.transcripts import TranscriptPort


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactService:
    """Reads artifacts."""

    transcripts: TranscriptPort
    artifacts: ArtifactStorePort

    def fetch_body(self, scope: Scope, conversation_id: ConversationId, artifact_id: ArtifactId) -> str:
        """Return an artifact's body, which is JSON.

        Raises:
            NotFound: the conversation is not the scope's, or has no such artifact.
        """
        self.transcripts.fetch_conversation(scope, conversation_id)
        return self.artifacts.fetch_artifact(ArtifactKey.of(scope, conversation_id, artifact_id)).decode()

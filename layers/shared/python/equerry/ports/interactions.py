"""What people did with an answer, and the artifacts a conversation produced."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from equerry.domain.conversations import InteractionBucket
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ArtifactId, ConversationId, RunId
from equerry.kernel.kinds import record


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """One thing a person or their page did.

    Attributes:
        kind: the feature.
        bucket: how they met it.
        about: the message or the suggestion that it was about.
        details: small, and without text of the conversation.
    """

    interaction_id: str
    conversation_id: ConversationId
    run_id: RunId | None
    kind: str
    bucket: InteractionBucket = "interacted"
    about: str | None = None
    details: Mapping[str, object]
    at: datetime


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactSummary:
    """An artifact's record; its body lies in the artifact store."""

    artifact_id: ArtifactId
    run_id: RunId
    kind: str
    title: str
    size_bytes: int
    created_at: datetime


class InteractionPort(Protocol):
    """The event stream of what people do."""

    def record_interaction(self, scope: Scope, interaction: Interaction) -> None:
        """Append one; the same id twice is kept once. NotFound if the conversation is not the scope's."""
        ...


class ArtifactPort(Protocol):
    """Artifact records."""

    def record_artifact(
        self, scope: Scope, conversation_id: ConversationId, artifact: ArtifactSummary
    ) -> None:
        """Keep what an artifact is, before its body is stored; the same id again changes nothing.

        Raises:
            NotFound: the conversation is not the scope's, or has gone; then no body may be stored either.
        """
        ...

    def list_artifacts(self, scope: Scope, conversation_id: ConversationId) -> tuple[ArtifactSummary, ...]:
        """Return artifacts, oldest first; NotFound if the conversation is not the scope's."""
        ...

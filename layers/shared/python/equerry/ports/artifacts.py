"""Bodies that are too large to travel in an envelope."""

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ArtifactId, ConversationId, OrganisationId, UserId
from equerry.kernel.kinds import value

MAX_ARTIFACT_BYTES = 4_000_000
"""A function's answer may have six million, and what JSON adds to it."""


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactKey:
    """Where a body lies: artifacts/{organisation}/{user}/{conversation}/{artifact}, each part quoted.

    Whoever deletes a conversation, a person's data or an organisation's finds the bodies by that prefix.
    """

    organisation_id: OrganisationId
    user_id: UserId
    conversation_id: ConversationId
    artifact_id: ArtifactId

    def __str__(self) -> str:
        return (
            f"{artifact_prefix(self.organisation_id, self.user_id, self.conversation_id)}{self.artifact_id}"
        )

    @classmethod
    def of(cls, scope: Scope, conversation_id: ConversationId, artifact_id: ArtifactId) -> "ArtifactKey":
        """Return the key of an artifact in one of the scope's own conversations."""
        return cls(
            organisation_id=scope.organisation_id,
            user_id=scope.user_id,
            conversation_id=conversation_id,
            artifact_id=artifact_id,
        )


def artifact_prefix(*parts: str) -> str:
    """Return what the keys of an organisation begin with, or of its user, or of the user's conversation."""
    return "".join(f"{quote(part, safe='')}/" for part in ("artifacts", *parts))


class ArtifactStorePort(Protocol):
    """Artifacts' bodies; whoever may read a conversation may read its artifacts, which the caller checks."""

    def store_artifact(self, key: ArtifactKey, body: bytes) -> None:
        """Keep a body; the same key again replaces it.

        Raises:
            TooLarge: more than four million bytes; nothing was kept.
        """
        ...

    def fetch_artifact(self, key: ArtifactKey) -> bytes:
        """Return a body; NotFound if there is none."""
        ...

    def delete_artifacts(self, prefix: str) -> None:
        """Delete every body whose key begins with `prefix`, which ends in a slash; none is not an error."""
        ...

"""Identifiers: opaque text to everyone but the place that mints them."""

import re
import uuid
from collections.abc import Callable
from typing import NewType, TypeVar

from equerry.kernel.errors import InvalidInput

OrganisationId = NewType("OrganisationId", str)
UserId = NewType("UserId", str)
ProjectId = NewType("ProjectId", str)
ConversationId = NewType("ConversationId", str)
MessageId = NewType("MessageId", str)
RunId = NewType("RunId", str)
ToolCallId = NewType("ToolCallId", str)
CorpusId = NewType("CorpusId", str)
DocumentId = NewType("DocumentId", str)
PassageId = NewType("PassageId", str)
ArtifactId = NewType("ArtifactId", str)
DraftId = NewType("DraftId", str)
ConnectionId = NewType("ConnectionId", str)

NewIdentifier = Callable[[], str]
"""Mints a fresh identifier: a lower-case UUID with hyphens."""

_Id = TypeVar("_Id", bound=str)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def parse_identifier(kind: Callable[[str], _Id], text: str, *, name: str) -> _Id:
    """Read an identifier that a stranger sent.

    Args:
        kind: the identifier's type, `RunId` for one.
        text: what was sent; must be a UUID in its canonical, lower-case form.
        name: the field's name on the wire, for the error.

    Raises:
        InvalidInput: `text` is not a canonical UUID.
    """
    if not _UUID.fullmatch(text):
        raise InvalidInput(f"{name} must be a lower-case UUID, got {text[:80]!r}", field=name)
    return kind(text)


def derive_identifier(kind: Callable[[str], _Id], *parts: str) -> _Id:
    """Return the identifier that always belongs to `parts`: the same parts, the same identifier."""
    return kind(str(uuid.uuid5(uuid.NAMESPACE_URL, "\x1f".join(parts))))

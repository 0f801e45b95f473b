"""Pages of conversations: a limit, and a cursor that only we can read."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import datetime

from equerry.domain.conversations import ConversationPlace
from equerry.kernel.errors import InvalidInput
from equerry.kernel.identifiers import ConversationId, parse_identifier
from equerry.surfaces.http.routing import Parameter

MOST = 200
USUAL = 50
PAGE = (
    Parameter(
        name="limit",
        description=f"Conversations of a page, 1 to {MOST}; {USUAL} if not given.",
        schema="integer",
    ),
    Parameter(name="cursor", description="From the page before; none for the first."),
)
_MAX_CURSOR_CHARS = 200


def read_limit(query: Mapping[str, str]) -> int:
    """Return how many are wanted; InvalidInput for anything but 1 to 200."""
    text = query.get("limit")
    if text is None:
        return USUAL
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MOST):
        raise InvalidInput(f"limit must be a whole number from 1 to {MOST}, got {text[:40]!r}", field="limit")
    return int(text)


def write_place(place: ConversationPlace) -> str:
    """Return a place as a cursor."""
    text = f"{place.updated_at.isoformat()}|{place.conversation_id}"
    return urlsafe_b64encode(text.encode()).decode()


def read_place(query: Mapping[str, str]) -> ConversationPlace | None:
    """Return the place a cursor stands for; None without one, InvalidInput for one that is not ours."""
    text = query.get("cursor")
    if text is None:
        return None
    try:
        at, conversation_id = urlsafe_b64decode(text[:_MAX_CURSOR_CHARS]).decode().split("|")
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None:
            raise ValueError(text)
        return ConversationPlace(
            updated_at=moment,
            conversation_id=parse_identifier(ConversationId, conversation_id, name="cursor"),
        )
    except (ValueError, binascii.Error, InvalidInput):
        raise InvalidInput("cursor must be one that a page before gave", field="cursor") from None

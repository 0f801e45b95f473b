"""Control frames: what the channel says of itself to one reader, beside the events of runs.

They share an envelope's header, with seq 0, and are never logged or replayed.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from equerry.channel.envelope import encode_fields, encode_instant
from equerry.channel.events import CONTRACT_VERSION
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.kernel.kinds import message


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribed:
    """The reader listens now; `last_seq` is the run's newest event, and what the reader lacks follows."""

    last_seq: int
    ended: bool


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The log has forgotten what follows `after`; `next` is the first event it still has: load again."""

    after: int
    next: int


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The run lives and has nothing new to say; `last_seq` is its newest event."""

    last_seq: int


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Pong:
    """The answer to a ping."""


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRefused:
    """A frame was not acted on; the socket stays open."""

    code: str
    message: str


Control = Subscribed | Gap | Heartbeat | Pong | FrameRefused

CONTROL_TYPES: Mapping[str, type[Control]] = {
    "subscribed": Subscribed,
    "gap": Gap,
    "heartbeat": Heartbeat,
    "pong": Pong,
    "refused": FrameRefused,
}
"""The declared vocabulary: name on the wire, payload."""
_NAME_OF: Mapping[type, str] = {payload: name for name, payload in CONTROL_TYPES.items()}


def encode_control(
    control: Control,
    *,
    at: datetime,
    conversation_id: ConversationId | None = None,
    run_id: RunId | None = None,
) -> dict[str, object]:
    """Return the JSON object that a reader receives."""
    return {
        "v": CONTRACT_VERSION,
        "type": _NAME_OF[type(control)],
        "runId": run_id,
        "conversationId": conversation_id,
        "seq": 0,
        "at": encode_instant(at),
        "payload": encode_fields(asdict(control)),
    }

"""Control frames: what the channel says of itself to one reader, beside the events of runs.

They share an envelope's header, with seq 0, and are never logged or replayed.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from equerry.channel.envelope import encode_fields
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
class Pong:
    """The answer to a ping."""


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRefused:
    """A frame was not acted on; the socket stays open."""

    code: str
    message: str


Control = Subscribed | Gap | Pong | FrameRefused

CONTROL_TYPES: Mapping[str, type[Control]] = {
    "subscribed": Subscribed,
    "gap": Gap,
    "pong": Pong,
    "refused": FrameRefused,
}
"""The declared vocabulary: name on the wire, payload."""
_NAME_OF: Mapping[type, str] = {payload: name for name, payload in CONTROL_TYPES.items()}


def describe_control(control: Control) -> tuple[str, dict[str, object]]:
    """Return a control frame's name and its payload on the wire."""
    return _NAME_OF[type(control)], encode_fields(asdict(control))

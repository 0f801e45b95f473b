"""The envelope every event travels in, and its form on the wire."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from equerry.channel.events import CONTRACT_VERSION, EVENT_TYPES, Event, UiAction
from equerry.kernel.identifiers import ArtifactId, ConversationId, RunId
from equerry.kernel.kinds import message

_NAME_OF: Mapping[type, str] = {payload: name for name, payload in EVENT_TYPES.items()}


class UndeclaredEvent(TypeError):
    """A bug of ours: something was published that the vocabulary does not declare."""


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadRef:
    """A payload too large for a frame: the artifact of the run's conversation that holds it, as JSON."""

    artifact_id: ArtifactId
    size_bytes: int


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One event of one run.

    Attributes:
        type: the event's name in the vocabulary.
        seq: from 1 in each run, without gaps.
        at: when it was published, in UTC.
        payload: the event on the wire: JSON values, camelCase keys; empty if `payload_ref` stands for it.
    """

    type: str
    run_id: RunId
    conversation_id: ConversationId
    seq: int
    at: datetime
    payload: Mapping[str, object]
    v: int = CONTRACT_VERSION
    payload_ref: PayloadRef | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether nothing may follow in this run."""
        return self.type == "done"

    def to_wire(self) -> dict[str, object]:
        """Return the JSON object that readers receive."""
        wire: dict[str, object] = {
            "v": self.v,
            "type": self.type,
            "runId": self.run_id,
            "conversationId": self.conversation_id,
            "seq": self.seq,
            "at": encode_instant(self.at),
            "payload": dict(self.payload),
        }
        if self.payload_ref is not None:
            wire["payloadRef"] = encode_fields(asdict(self.payload_ref))
        return wire


def encode_instant(at: datetime) -> str:
    """Return an aware time as it stands on the wire: ISO 8601 in UTC, to the millisecond."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def describe_event(event: Event) -> tuple[str, dict[str, object]]:
    """Return an event's name and its payload on the wire.

    Raises:
        UndeclaredEvent: the vocabulary does not declare the event's type.
    """
    name = _NAME_OF.get(type(event))
    if name is None:
        raise UndeclaredEvent(f"{type(event).__qualname__} is not declared in equerry.channel.events")
    if isinstance(event, UiAction):
        return name, {"action": event.action, **event.details}
    return name, encode_fields(asdict(event))


def encode_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """Return a payload's fields as JSON values under camelCase names; those that are None are left out."""
    return {_camel(key): _plain(entry) for key, entry in fields.items() if entry is not None}


def _plain(entry: object) -> object:
    if isinstance(entry, dict):
        return encode_fields(entry)
    if isinstance(entry, list | tuple):
        return [_plain(item) for item in entry]
    return entry


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)

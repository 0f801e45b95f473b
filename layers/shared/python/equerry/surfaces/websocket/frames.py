"""What a reader may send on the socket."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from equerry.kernel.errors import InvalidInput
from equerry.surfaces.http.wire import WireModel
from equerry.surfaces.json_input import read_json

MAX_FRAME_CHARS = 4_096


class SubscribeFrame(WireModel):
    """Listen to a conversation, from a run's envelope after `after`; `resume` says it again."""

    action: Literal["subscribe", "resume"]
    conversation_id: str
    run_id: str | None = None
    after: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class UnsubscribeFrame(WireModel):
    """Stop listening."""

    action: Literal["unsubscribe"]
    conversation_id: str


class PingFrame(WireModel):
    """Are you there?"""

    action: Literal["ping"]


ReaderFrame = SubscribeFrame | UnsubscribeFrame | PingFrame
_ADAPTER: TypeAdapter[ReaderFrame] = TypeAdapter(Annotated[ReaderFrame, Field(discriminator="action")])


def decode_frame(text: str) -> ReaderFrame:
    """Read a frame.

    Raises:
        InvalidInput: no JSON, an unknown action, a field that does not fit, or not as strict as `read_json`.
    """
    if len(text) > MAX_FRAME_CHARS:
        raise InvalidInput(f"a frame must be at most {MAX_FRAME_CHARS} characters")
    return read_json(text, _ADAPTER.validate_python, whole="frame")

"""What a reader may send on the socket."""

from json import JSONDecodeError, loads
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from equerry.kernel.errors import InvalidInput
from equerry.surfaces.http.models import WireModel

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
        InvalidInput: no JSON, an unknown action, or a field that does not fit.
    """
    if len(text) > MAX_FRAME_CHARS:
        raise InvalidInput(f"a frame must be at most {MAX_FRAME_CHARS} characters")
    try:
        return _ADAPTER.validate_python(loads(text))
    except (JSONDecodeError, RecursionError) as broken:
        raise InvalidInput("a frame must be a JSON object") from broken
    except ValidationError as misfit:
        first = misfit.errors(include_url=False, include_input=False)[0]
        name = ".".join(str(part) for part in first["loc"]) or "frame"
        raise InvalidInput(f"{name}: {first['msg']}", field=name) from misfit

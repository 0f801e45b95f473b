"""The JSON of a question and of its acknowledgement."""

from typing import Annotated

from pydantic import Field

from equerry.channel.events import ExecutionMode
from equerry.surfaces.http.wire import WireModel

SurfaceName = Annotated[str, Field(min_length=1, max_length=64)]


class ContextRequest(WireModel):
    """What your page says about itself: hints for the assistant, which open nothing to anybody.

    Ids that stand in `route` go before those given beside it. All of it together: 120,000 characters at most.
    """

    route: str | None = None
    project_id: str | None = None
    estimate_id: str | None = None


class TurnRequest(WireModel):
    """Ask something; `surface` is where, if not where the conversation stands."""

    text: str
    context: ContextRequest | None = None
    surface: SurfaceName | None = None


class MessageIds(WireModel):
    """Allocated before the run starts."""

    user: str
    assistant: str


class AcceptanceAnswer(WireModel):
    """The run exists; its answer arrives on the channel."""

    run_id: str
    conversation_id: str
    message_ids: MessageIds
    mode: ExecutionMode

"""A frame's way to the service that answers it."""

from equerry.kernel.errors import EquerryError
from equerry.kernel.identifiers import ConnectionId, ConversationId, RunId, parse_identifier
from equerry.services.subscriptions import SubscriptionService
from equerry.surfaces.websocket.frames import PingFrame, ReaderFrame, SubscribeFrame, decode_frame


def receive_frame(service: SubscriptionService, connection_id: ConnectionId, text: str) -> None:
    """Act on a reader's frame; a foreseen failure is told on the socket, which stays open."""
    try:
        _act(service, connection_id, decode_frame(text))
    except EquerryError as failure:
        service.refuse(connection_id, failure)


def _act(service: SubscriptionService, connection_id: ConnectionId, frame: ReaderFrame) -> None:
    if isinstance(frame, PingFrame):
        service.pong(connection_id)
        return
    conversation_id = parse_identifier(ConversationId, frame.conversation_id, name="conversationId")
    if not isinstance(frame, SubscribeFrame):
        service.unsubscribe(connection_id, conversation_id)
        return
    run_id = parse_identifier(RunId, frame.run_id, name="runId") if frame.run_id is not None else None
    service.subscribe(connection_id, conversation_id, run_id=run_id, after=frame.after)

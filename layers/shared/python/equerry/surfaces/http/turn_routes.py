"""The route that takes questions: what an acknowledgement needs, and nothing else of the API."""

from dataclasses import dataclass

from equerry.domain.turn_context import TurnContext, build_context
from equerry.kernel.identifiers import ConversationId, parse_identifier
from equerry.services.turns import TurnService
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest
from equerry.surfaces.http.rates import encode_standings
from equerry.surfaces.http.routing import Parameter, Route
from equerry.surfaces.http.turn_models import AcceptanceAnswer, ContextRequest, MessageIds, TurnRequest

_KEY = Parameter(
    name="Idempotency-Key",
    description="Yours for this question: sent again under the same key, it is the same turn for 24 hours.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRoutes:
    """POST /conversations/{conversationId}/messages."""

    turns: TurnService

    def build(self) -> tuple[Route, ...]:
        """Return the route."""
        return (
            Route(
                method="POST",
                path="/conversations/{conversationId}/messages",
                operation="submitTurn",
                summary="Ask; the answer arrives on the channel",
                handle=self.submit,
                status=202,
                request=TurnRequest,
                answer=AcceptanceAnswer,
                headers=(_KEY,),
                failures=(404, 409, 422, 429),
            ),
        )

    def submit(self, request: HttpRequest) -> HttpAnswer:
        """POST /conversations/{conversationId}/messages."""
        self.turns.require_enabled()  # before anything else, a malformed body included
        asked = request.read_body(TurnRequest)
        accepted = self.turns.submit(
            request.principal.scope,
            read_conversation_id(request),
            asked.text,
            key=request.headers.get(_KEY.name.lower()),
            context=read_context(asked.context),
            surface=asked.surface,
        )
        answer = AcceptanceAnswer(
            run_id=accepted.run_id,
            conversation_id=accepted.conversation_id,
            message_ids=MessageIds(user=accepted.user_message_id, assistant=accepted.assistant_message_id),
            mode=accepted.mode,
        )
        return HttpAnswer(status=202, body=answer, headers=encode_standings(accepted.standings))


def read_conversation_id(request: HttpRequest) -> ConversationId:
    """Return the conversation of the path; InvalidInput if it is no identifier."""
    return parse_identifier(ConversationId, request.path["conversationId"], name="conversationId")


def read_context(given: ContextRequest | None) -> TurnContext | None:
    """Return what a page said about itself; None where it said nothing."""
    if given is None:
        return None
    return build_context(given.route, {"projectId": given.project_id, "estimateId": given.estimate_id})

"""Conversations, turns and what people do with them."""

from dataclasses import dataclass

from equerry.domain.conversations import TranscriptMessage
from equerry.kernel.identifiers import ConversationId, RunId, parse_identifier
from equerry.services.conversations import ConversationService
from equerry.services.turns import TurnService
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest
from equerry.surfaces.http.models import (
    AcceptanceAnswer,
    ArtifactAnswer,
    ArtifactList,
    CitationAnswer,
    ConversationAnswer,
    ConversationList,
    ConversationRequest,
    InteractionRequest,
    MessageAnswer,
    MessageIds,
    TranscriptAnswer,
    TurnRequest,
)
from equerry.surfaces.http.rates import encode_standings
from equerry.surfaces.http.routing import Parameter, Route

_KEY = Parameter(
    name="Idempotency-Key",
    description="Yours for this question: sent again under the same key, it is the same turn for 24 hours.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRoutes:
    """Routes under /conversations."""

    conversations: ConversationService
    turns: TurnService

    def build(self) -> tuple[Route, ...]:
        """Return the routes."""
        one = "/conversations/{conversationId}"
        return (
            Route(
                method="POST",
                path="/conversations",
                operation="createConversation",
                summary="Open a conversation",
                handle=self.create,
                status=201,
                request=ConversationRequest,
                answer=ConversationAnswer,
                failures=(404,),
            ),
            Route(
                method="GET",
                path="/conversations",
                operation="listConversations",
                summary="Your conversations, last changed first",
                handle=self.list_recent,
                answer=ConversationList,
            ),
            Route(
                method="GET",
                path=one,
                operation="getConversation",
                summary="A conversation and its messages",
                handle=self.fetch,
                answer=TranscriptAnswer,
                failures=(404,),
            ),
            Route(
                method="POST",
                path=f"{one}/messages",
                operation="submitTurn",
                summary="Ask; the answer arrives on the channel",
                handle=self.submit,
                status=202,
                request=TurnRequest,
                answer=AcceptanceAnswer,
                headers=(_KEY,),
                failures=(404, 409, 422, 429),
            ),
            Route(
                method="GET",
                path=f"{one}/artifacts",
                operation="listArtifacts",
                summary="What a conversation produced",
                handle=self.list_artifacts,
                answer=ArtifactList,
                failures=(404,),
            ),
            Route(
                method="POST",
                path=f"{one}/interactions",
                operation="recordInteraction",
                summary="Record what a person or their page did",
                handle=self.record_interaction,
                status=202,
                request=InteractionRequest,
                failures=(404,),
            ),
        )

    def create(self, request: HttpRequest) -> HttpAnswer:
        """POST /conversations."""
        asked = request.read_body(ConversationRequest)
        created = self.conversations.create(request.principal.scope, profile=asked.profile, title=asked.title)
        return HttpAnswer(status=201, body=ConversationAnswer.model_validate(created))

    def list_recent(self, request: HttpRequest) -> HttpAnswer:
        """GET /conversations."""
        found = self.conversations.list_recent(request.principal.scope)
        listed = [ConversationAnswer.model_validate(conversation) for conversation in found]
        return HttpAnswer(status=200, body=ConversationList(conversations=listed))

    def fetch(self, request: HttpRequest) -> HttpAnswer:
        """GET /conversations/{conversationId}."""
        view = self.conversations.fetch_view(request.principal.scope, _conversation_id(request))
        conversation = ConversationAnswer.model_validate(view.conversation)
        answer = TranscriptAnswer(
            **conversation.model_dump(),
            active_run_id=view.active_run_id,
            messages=[_encode_message(message) for message in view.messages],
        )
        return HttpAnswer(status=200, body=answer)

    def submit(self, request: HttpRequest) -> HttpAnswer:
        """POST /conversations/{conversationId}/messages."""
        self.turns.require_enabled()  # before anything else, a malformed body included
        asked = request.read_body(TurnRequest)
        accepted = self.turns.submit(
            request.principal.scope,
            _conversation_id(request),
            asked.text,
            key=request.headers.get(_KEY.name.lower()),
        )
        answer = AcceptanceAnswer(
            run_id=accepted.run_id,
            conversation_id=accepted.conversation_id,
            message_ids=MessageIds(user=accepted.user_message_id, assistant=accepted.assistant_message_id),
            mode=accepted.mode,
        )
        return HttpAnswer(status=202, body=answer, headers=encode_standings(accepted.standings))

    def list_artifacts(self, request: HttpRequest) -> HttpAnswer:
        """GET /conversations/{conversationId}/artifacts."""
        found = self.conversations.list_artifacts(request.principal.scope, _conversation_id(request))
        listed = [ArtifactAnswer.model_validate(artifact) for artifact in found]
        return HttpAnswer(status=200, body=ArtifactList(artifacts=listed))

    def record_interaction(self, request: HttpRequest) -> HttpAnswer:
        """POST /conversations/{conversationId}/interactions."""
        done = request.read_body(InteractionRequest)
        self.conversations.record_interaction(
            request.principal.scope,
            _conversation_id(request),
            kind=done.kind,
            run_id=parse_identifier(RunId, done.run_id, name="runId") if done.run_id else None,
            details=done.data,
        )
        return HttpAnswer(status=202)


def _conversation_id(request: HttpRequest) -> ConversationId:
    return parse_identifier(ConversationId, request.path["conversationId"], name="conversationId")


def _encode_message(message: TranscriptMessage) -> MessageAnswer:
    return MessageAnswer(
        message_id=message.message_id,
        role=message.role,
        text=message.text,
        citations=encode_citations(message),
        run_id=message.run_id,
        created_at=message.created_at,
    )


def encode_citations(message: TranscriptMessage) -> list[CitationAnswer]:
    """Return a message's sources in order of `n`."""
    return [
        CitationAnswer(
            n=ref.n,
            passage_id=ref.passage_id,
            document_id=ref.document_id,
            title=ref.title,
            heading_path=list(ref.heading_path),
            quote=ref.quote,
            source_path=ref.source_path,
        )
        for ref in message.citations
    ]

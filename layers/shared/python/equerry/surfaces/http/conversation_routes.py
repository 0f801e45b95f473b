"""Conversations, and what people do with them."""

from dataclasses import dataclass

from equerry.domain.conversations import Conversation, TranscriptMessage
from equerry.kernel.identifiers import RunId, parse_identifier
from equerry.services.conversations import ConversationService
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest
from equerry.surfaces.http.models import (
    ArtifactAnswer,
    ArtifactList,
    CitationAnswer,
    ContextAnswer,
    ConversationAnswer,
    ConversationList,
    ConversationRequest,
    InteractionRequest,
    MessageAnswer,
    StepAnswer,
    TranscriptAnswer,
)
from equerry.surfaces.http.paging import PAGE, read_limit, read_place, write_place
from equerry.surfaces.http.routing import Route
from equerry.surfaces.http.turn_routes import read_context, read_conversation_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRoutes:
    """Routes under /conversations, but for the one that takes questions."""

    conversations: ConversationService

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
                summary="Your active conversations, last changed first",
                handle=self.list_active,
                answer=ConversationList,
                query=PAGE,
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
                method="DELETE",
                path=one,
                operation="archiveConversation",
                summary="Put a conversation away; it stays to be read",
                handle=self.archive,
                status=204,
                failures=(404,),
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
        created = self.conversations.create(
            request.principal.scope,
            profile=asked.profile,
            title=asked.title,
            surface=asked.surface,
            about=asked.about,
            context=read_context(asked.context),
        )
        return HttpAnswer(status=201, body=_encode_conversation(created))

    def list_active(self, request: HttpRequest) -> HttpAnswer:
        """GET /conversations."""
        page = self.conversations.show_active(
            request.principal.scope, limit=read_limit(request.query), after=read_place(request.query)
        )
        listed = [_encode_conversation(conversation) for conversation in page.conversations]
        answer = ConversationList(
            conversations=listed, cursor=None if page.last is None else write_place(page.last)
        )
        return HttpAnswer(status=200, body=answer)

    def archive(self, request: HttpRequest) -> HttpAnswer:
        """DELETE /conversations/{conversationId}."""
        self.conversations.archive(request.principal.scope, read_conversation_id(request))
        return HttpAnswer(status=204)

    def fetch(self, request: HttpRequest) -> HttpAnswer:
        """GET /conversations/{conversationId}."""
        view = self.conversations.fetch_view(request.principal.scope, read_conversation_id(request))
        conversation = _encode_conversation(view.conversation)
        answer = TranscriptAnswer(
            **conversation.model_dump(),
            active_run_id=view.active_run_id,
            messages=[_encode_message(message) for message in view.messages],
        )
        return HttpAnswer(status=200, body=answer)

    def list_artifacts(self, request: HttpRequest) -> HttpAnswer:
        """GET /conversations/{conversationId}/artifacts."""
        found = self.conversations.list_artifacts(request.principal.scope, read_conversation_id(request))
        listed = [ArtifactAnswer.model_validate(artifact) for artifact in found]
        return HttpAnswer(status=200, body=ArtifactList(artifacts=listed))

    def record_interaction(self, request: HttpRequest) -> HttpAnswer:
        """POST /conversations/{conversationId}/interactions."""
        done = request.read_body(InteractionRequest)
        self.conversations.record_interaction(
            request.principal.scope,
            read_conversation_id(request),
            kind=done.kind,
            run_id=None if done.run_id is None else parse_identifier(RunId, done.run_id, name="runId"),
            details=done.data,
            bucket=done.bucket,
            about=done.about,
        )
        return HttpAnswer(status=202)


def _encode_conversation(conversation: Conversation) -> ConversationAnswer:
    context = conversation.context
    return ConversationAnswer(
        conversation_id=conversation.conversation_id,
        title=conversation.title,
        profile=conversation.profile,
        surface=conversation.surface,
        about=conversation.about,
        state=conversation.state,
        context=None if context is None else ContextAnswer(route=context.route, ids=dict(context.ids)),
        created_at=conversation.created_at,
        updated_at=conversation.updated_at,
    )


def _encode_message(message: TranscriptMessage) -> MessageAnswer:
    return MessageAnswer(
        message_id=message.message_id,
        role=message.role,
        text=message.text,
        citations=encode_citations(message),
        steps=[
            StepAnswer(
                tool_call_id=step.call_id,
                tool=step.tool,
                label=step.label,
                state=step.state,
                summary=step.text,
            )
            for step in message.steps
        ],
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

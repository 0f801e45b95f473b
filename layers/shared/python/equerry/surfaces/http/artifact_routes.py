"""Artifacts' bodies: what was too large for an envelope."""

from dataclasses import dataclass

from equerry.kernel.identifiers import ArtifactId, ConversationId, parse_identifier
from equerry.services.artifacts import ArtifactService
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest
from equerry.surfaces.http.routing import Route


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactRoutes:
    """GET /conversations/{conversationId}/artifacts/{artifactId}."""

    artifacts: ArtifactService

    def build(self) -> tuple[Route, ...]:
        """Return the route."""
        return (
            Route(
                method="GET",
                path="/conversations/{conversationId}/artifacts/{artifactId}",
                operation="getArtifact",
                summary="An artifact's body, such as the payload that an envelope refers to",
                handle=self.fetch,
                media_type="application/json",
                failures=(404,),
            ),
        )

    def fetch(self, request: HttpRequest) -> HttpAnswer:
        """GET /conversations/{conversationId}/artifacts/{artifactId}."""
        body = self.artifacts.fetch_body(
            request.principal.scope,
            parse_identifier(ConversationId, request.path["conversationId"], name="conversationId"),
            parse_identifier(ArtifactId, request.path["artifactId"], name="artifactId"),
        )
        return HttpAnswer(status=200, body=body, headers={"cache-control": "no-store"})

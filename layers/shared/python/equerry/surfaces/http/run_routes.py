"""Runs, their envelopes, and tickets for the socket that carries them."""

from dataclasses import dataclass, fields

from equerry.kernel.errors import InvalidInput
from equerry.kernel.identifiers import RunId, parse_identifier
from equerry.kernel.usage import Usage
from equerry.services.reading import MAX_WAIT_S, RunReadingService, RunView
from equerry.services.subscriptions import TicketService
from equerry.services.turns import TurnService
from equerry.surfaces.http.conversation_routes import encode_citations
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest
from equerry.surfaces.http.models import (
    CancelAnswer,
    EnvelopeAnswer,
    GapAnswer,
    ModelAnswer,
    ReplayAnswer,
    RunAnswer,
    RunFailure,
    RunMessage,
    TicketAnswer,
    UsageAnswer,
)
from equerry.surfaces.http.routing import Parameter, Route

MOST_SEQ = 1_000_000
"""No run comes near it; anything above is no seq of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRoutes:
    """Routes under /runs, and POST /tickets."""

    reading: RunReadingService
    turns: TurnService
    tickets: TicketService
    websocket_url: str

    def build(self) -> tuple[Route, ...]:
        """Return the routes."""
        wait = Parameter(
            name="wait", description="Seconds to wait for the run's end, 0 to 25.", schema="integer"
        )
        after = Parameter(name="after", description="The last seq you have; 0 for none.", schema="integer")
        return (
            Route(
                method="GET",
                path="/runs/{runId}",
                operation="getRun",
                summary="A run's state and answer, at once or when it has ended",
                handle=self.fetch,
                answer=RunAnswer,
                query=(wait,),
                failures=(404,),
            ),
            Route(
                method="GET",
                path="/runs/{runId}/envelopes",
                operation="listEnvelopes",
                summary="A run's events after a seq, in order",
                handle=self.list_envelopes,
                answer=ReplayAnswer,
                query=(after,),
                failures=(404,),
            ),
            Route(
                method="POST",
                path="/runs/{runId}/cancel",
                operation="cancelRun",
                summary="Ask a run to stop",
                handle=self.cancel,
                status=202,
                answer=CancelAnswer,
                failures=(404,),
            ),
            Route(
                method="POST",
                path="/tickets",
                operation="createTicket",
                summary="A one-use ticket for the WebSocket",
                handle=self.issue_ticket,
                status=201,
                answer=TicketAnswer,
            ),
        )

    def fetch(self, request: HttpRequest) -> HttpAnswer:
        """GET /runs/{runId}?wait=."""
        wait_s = read_count(request.query.get("wait", "0"), name="wait", most=int(MAX_WAIT_S))
        view = self.reading.fetch_view(request.principal.scope, read_run_id(request), wait_s=wait_s)
        return HttpAnswer(status=200, body=_encode_run(view))

    def list_envelopes(self, request: HttpRequest) -> HttpAnswer:
        """GET /runs/{runId}/envelopes?after=."""
        after = read_count(request.query.get("after", "0"), name="after", most=MOST_SEQ)
        found = self.reading.read_envelopes(request.principal.scope, read_run_id(request), after=after)
        gap = None if found.gap_next is None else GapAnswer(after=after, next=found.gap_next)
        answer = ReplayAnswer(
            envelopes=[EnvelopeAnswer.model_validate(envelope.to_wire()) for envelope in found.envelopes],
            gap=gap,
            ended=found.ended,
            has_more=found.has_more,
        )
        return HttpAnswer(status=200, body=answer)

    def cancel(self, request: HttpRequest) -> HttpAnswer:
        """POST /runs/{runId}/cancel."""
        run = self.turns.cancel(request.principal.scope, read_run_id(request))
        return HttpAnswer(status=202, body=CancelAnswer(run_id=run.run_id, status=run.status))

    def issue_ticket(self, request: HttpRequest) -> HttpAnswer:
        """POST /tickets."""
        ticket = self.tickets.issue(request.principal)
        answer = TicketAnswer(
            ticket=ticket.ticket, web_socket_url=self.websocket_url, expires_at=ticket.expires_at
        )
        return HttpAnswer(status=201, body=answer, headers={"cache-control": "no-store"})


def read_run_id(request: HttpRequest) -> RunId:
    """Return the run of the path; InvalidInput if it is no identifier."""
    return parse_identifier(RunId, request.path["runId"], name="runId")


def read_count(text: str, *, name: str, most: int) -> int:
    """Return a whole number from 0 to `most`; InvalidInput, which names the field, for anything else."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) <= most):
        raise InvalidInput(f"{name} must be a whole number from 0 to {most}, got {text[:40]!r}", field=name)
    return int(text)


def _encode_run(view: RunView) -> RunAnswer:
    run, answer = view.run, view.answer
    return RunAnswer(
        run_id=run.run_id,
        conversation_id=run.conversation_id,
        status=run.status,
        stop_reason=run.stop_reason,
        usage=UsageAnswer(**{field.name: getattr(run.usage, field.name) for field in fields(Usage)}),
        mode=run.mode,
        mode_reason=run.mode_reason,
        profile=run.profile,
        profile_version=run.profile_version,
        model=ModelAnswer(provider=run.model.provider, model=run.model.model) if run.model else None,
        message=RunMessage(message_id=answer.message_id, text=answer.text, citations=encode_citations(answer))
        if answer
        else None,
        error=RunFailure(code=run.error_code, message=run.error_message or "") if run.error_code else None,
        last_seq=view.last_seq,
    )

"""A run's events as server-sent events, a stretch at a time: for curl, and for readers without a socket."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from equerry.channel.control import Gap, encode_control
from equerry.domain.conversations import Run
from equerry.services.delivery import encode_frame
from equerry.services.reading import RunReadingService
from equerry.services.replaying import Replay
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest
from equerry.surfaces.http.routing import Parameter, Route
from equerry.surfaces.http.run_routes import MOST_SEQ, read_count, read_run_id

RETRY_MS = 500
"""A reader that follows the specification comes back after this long."""
_HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStreamRoutes:
    """GET /runs/{runId}/events.

    The gateway holds an answer back until it is whole and cuts it at 29 seconds, so one answer is a stretch
    of the stream: it ends soon, and the reader comes back with the last id it has.
    """

    reading: RunReadingService

    def build(self) -> tuple[Route, ...]:
        """Return the route."""
        last_id = Parameter(
            name="Last-Event-ID",
            description="The id of the last event you have; EventSource sends it by itself.",
        )
        return (
            Route(
                method="GET",
                path="/runs/{runId}/events",
                operation="followRun",
                summary="A run's next events as server-sent events; come back for more until 204",
                handle=self.follow,
                media_type="text/event-stream",
                otherwise=(204, "You have every event, `done` included; do not come back"),
                headers=(last_id,),
                failures=(404,),
            ),
        )

    def follow(self, request: HttpRequest) -> HttpAnswer:
        """GET /runs/{runId}/events."""
        # A reader that has none yet may send it blank.
        given = request.headers.get("last-event-id", "").strip() or "0"
        after = read_count(given, name="Last-Event-ID", most=MOST_SEQ)
        run, found = self.reading.follow_envelopes(request.principal.scope, read_run_id(request), after=after)
        if found.is_whole(after):
            return HttpAnswer(status=204, headers={"cache-control": "no-store"})
        lines = _write_stream(run, found, after=after, now=self.reading.clock.now())
        return HttpAnswer(status=200, body="".join(lines), headers=_HEADERS)


def _write_stream(run: Run, found: Replay, *, after: int, now: datetime) -> Iterator[str]:
    yield f"retry: {RETRY_MS}\n\n"
    if found.gap_next is not None:
        gap = encode_control(
            Gap(after=after, next=found.gap_next),
            at=now,
            conversation_id=run.conversation_id,
            run_id=run.run_id,
        )
        # With an id, so that the reader comes back from behind the gap.
        yield _write_event(gap, seq=found.gap_next - 1)
    for envelope in found.envelopes:
        yield _write_event(envelope.to_wire(), seq=envelope.seq)
    if not found.envelopes:
        yield ": ping\n\n"


def _write_event(wire: dict[str, object], *, seq: int) -> str:
    return f"id: {seq}\nevent: {wire['type']}\ndata: {encode_frame(wire)}\n\n"

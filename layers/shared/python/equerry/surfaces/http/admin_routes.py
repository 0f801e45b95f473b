"""What administrators see."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from equerry.domain.activity import FATIGUE_WINDOW, RETENTION_DAYS, ActivityRow, Fatigue
from equerry.domain.principal import Principal
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest
from equerry.surfaces.http.models import ActivityAnswer, ActivityRowAnswer, FatigueAnswer
from equerry.surfaces.http.routing import Parameter, Route


class ActivityShown(Protocol):
    """A page of activity."""

    @property
    def rows(self) -> tuple[ActivityRow, ...]: ...
    @property
    def cursor(self) -> str | None: ...


ShowActivity = Callable[[Principal, Mapping[str, str]], ActivityShown]
ShowFatigue = Callable[[Principal], Fatigue]

_QUERY = (
    Parameter(name="tool", description="Only this tool's calls."),
    Parameter(name="excludeTool", description="All but this tool's calls."),
    Parameter(name="from", description="Not before this time, ISO 8601 with offset."),
    Parameter(name="to", description="Before this time, ISO 8601 with offset."),
    Parameter(name="outcome", description="Only calls that ended so: ok, error or refused."),
    Parameter(name="cursor", description="From the page before; none for the first."),
    Parameter(name="limit", description="Rows of a page, 1 to 200; 50 if not given.", schema="integer"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminRoutes:
    """Routes for administrators."""

    show_activity: ShowActivity
    show_fatigue: ShowFatigue

    def build(self) -> tuple[Route, ...]:
        """Return the routes."""
        return (
            Route(
                method="GET",
                path="/activity",
                operation="listActivity",
                summary="What the organisation's assistants did, newest first",
                handle=self.list_activity,
                answer=ActivityAnswer,
                query=_QUERY,
                failures=(403,),
            ),
            Route(
                method="GET",
                path="/activity/fatigue",
                operation="getFatigue",
                summary="Whether drafts are still read before they are accepted; it stops nothing",
                handle=self.tell_fatigue,
                answer=FatigueAnswer,
                failures=(403,),
            ),
        )

    def list_activity(self, request: HttpRequest) -> HttpAnswer:
        """GET /activity."""
        page = self.show_activity(request.principal, request.query)
        answer = ActivityAnswer(
            rows=[_encode(row) for row in page.rows], cursor=page.cursor, retention_days=RETENTION_DAYS
        )
        return HttpAnswer(status=200, body=answer)

    def tell_fatigue(self, request: HttpRequest) -> HttpAnswer:
        """GET /activity/fatigue."""
        found = self.show_fatigue(request.principal)
        answer = FatigueAnswer(
            window_days=FATIGUE_WINDOW.days,
            accepted=found.accepted,
            unedited=found.unedited,
            unedited_pct=found.unedited_pct,
            sufficient_data=found.is_sufficient,
            flagged=found.is_flagged,
        )
        return HttpAnswer(status=200, body=answer)


def _encode(row: ActivityRow) -> ActivityRowAnswer:
    return ActivityRowAnswer(
        run_id=row.run_id,
        tool_call_id=row.call_id,
        user_id=row.user_id,
        tool=row.tool,
        arguments=dict(row.arguments),
        outcome=row.outcome,
        result_summary=dict(row.result),
        duration_ms=row.duration_ms,
        target=row.target,
        operation=row.operation,
        applied_record=row.applied_record,
        edited=row.edited,
        at=row.at,
    )

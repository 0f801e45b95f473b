"""Records of runs: one for whoever may explain it, and an incident's for administrators."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime

from equerry.domain.inspection import RunInspection, inspect_run
from equerry.domain.records import Incident, RecordPlace, RunRecord, UsageRecord
from equerry.domain.steps import ToolStep
from equerry.kernel.errors import InvalidInput
from equerry.kernel.identifiers import OrganisationId, RunId, parse_identifier
from equerry.kernel.usage import Usage
from equerry.services.records import RunRecordService
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest
from equerry.surfaces.http.models import ModelAnswer, UsageAnswer
from equerry.surfaces.http.record_models import (
    GroundingAnswer,
    InspectionAnswer,
    RunRecordAnswer,
    RunRecordList,
    StepRecordAnswer,
    ToolInspectionAnswer,
    TurnUsageAnswer,
)
from equerry.surfaces.http.routing import Parameter, Route

MOST_RECORDS = 100
USUAL_RECORDS = 20
_MOST_RUNS = 50
_MAX_CURSOR_CHARS = 200
_QUERY = (
    Parameter(name="from", description="Not accepted before this time, ISO 8601 with offset."),
    Parameter(name="to", description="Accepted before this time, ISO 8601 with offset."),
    Parameter(name="profile", description="Only runs of this profile."),
    Parameter(name="runIds", description=f"Only these runs, apart by commas; {_MOST_RUNS} at most."),
    Parameter(name="cursor", description="From the page before; none for the first."),
    Parameter(
        name="limit",
        description=f"Records of a page, 1 to {MOST_RECORDS}; {USUAL_RECORDS} if not given.",
        schema="integer",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRoutes:
    """GET /runs/{runId}/record and GET /run-records."""

    records: RunRecordService

    def build(self) -> tuple[Route, ...]:
        """Return the routes."""
        return (
            Route(
                method="GET",
                path="/runs/{runId}/record",
                operation="getRunRecord",
                summary="How a run went, without what was said; an administrator's look is audited",
                handle=self.fetch,
                answer=RunRecordAnswer,
                failures=(404,),
            ),
            Route(
                method="GET",
                path="/run-records",
                operation="listRunRecords",
                summary="The organisation's records of an incident, newest first; each look is audited",
                handle=self.list_incident,
                answer=RunRecordList,
                query=_QUERY,
                failures=(403,),
            ),
        )

    def fetch(self, request: HttpRequest) -> HttpAnswer:
        """GET /runs/{runId}/record."""
        run_id = parse_identifier(RunId, request.path["runId"], name="runId")
        scope = request.principal.scope
        record = self.records.fetch_record(scope, run_id)
        return HttpAnswer(status=200, body=_encode(record, scope.organisation_id))

    def list_incident(self, request: HttpRequest) -> HttpAnswer:
        """GET /run-records."""
        principal, limit = request.principal, _read_limit(request.query)
        principal.require_admin()
        found = self.records.list_incident(
            principal, _read_incident(request.query), after=_read_cursor(request.query), limit=limit
        )
        answer = RunRecordList(
            records=[_encode(record, principal.scope.organisation_id) for record in found],
            # A full page may be the last; the next is empty then.
            cursor=_write_cursor(found[-1].place) if len(found) == limit else None,
        )
        return HttpAnswer(status=200, body=answer)


def _read_incident(query: Mapping[str, str]) -> Incident:
    named = [text for text in query.get("runIds", "").split(",") if text]
    if len(named) > _MOST_RUNS:
        raise InvalidInput(f"runIds must name at most {_MOST_RUNS} runs, got {len(named)}", field="runIds")
    return Incident(
        since=_read_time("from", query),
        before=_read_time("to", query),
        profile=query.get("profile"),
        run_ids=tuple(parse_identifier(RunId, text, name="runIds") for text in named),
    )


def _read_limit(query: Mapping[str, str]) -> int:
    text = query.get("limit", str(USUAL_RECORDS))
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MOST_RECORDS):
        raise InvalidInput(
            f"limit must be a whole number from 1 to {MOST_RECORDS}, got {text[:40]!r}", field="limit"
        )
    return int(text)


def _read_time(name: str, query: Mapping[str, str]) -> datetime | None:
    text = query.get(name)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidInput(f"{name} must be an ISO 8601 time with an offset, got {text[:40]!r}", field=name)
    return moment


def _write_cursor(place: RecordPlace) -> str:
    return urlsafe_b64encode(f"{place.at.isoformat()}|{place.run_id}".encode()).decode()


def _read_cursor(query: Mapping[str, str]) -> RecordPlace | None:
    text = query.get("cursor")
    if not text:
        return None
    try:
        at, run_id = urlsafe_b64decode(text[:_MAX_CURSOR_CHARS]).decode().split("|")
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None:
            raise ValueError(text)
        return RecordPlace(at=moment, run_id=parse_identifier(RunId, run_id, name="cursor"))
    except (ValueError, binascii.Error, InvalidInput):
        raise InvalidInput("cursor must be one that a page before gave", field="cursor") from None


def _encode(record: RunRecord, organisation_id: OrganisationId) -> RunRecordAnswer:
    return RunRecordAnswer(
        run_id=record.run_id,
        conversation_id=record.conversation_id,
        user_id=record.user_id,
        organisation_id=organisation_id,
        profile=record.profile,
        surface=record.surface,
        mode=record.mode,
        mode_reason=record.mode_reason,
        status=record.status,
        attempts=record.attempts,
        trace_id=record.trace_id,
        queued_at=record.created_at,
        started_at=record.started_at,
        first_text_at=record.first_text_at,
        ended_at=record.ended_at,
        stop_reason=record.stop_reason,
        error_code=record.error_code,
        composition=dict(record.composition),
        outcome=dict(record.outcome),
        inspection=_encode_inspection(inspect_run(record)),
        steps=[_encode_step(step) for step in record.steps],
        deliveries=None if record.deliveries is None else dict(record.deliveries),
        usage=_encode_usage(record.usage) if record.usage else None,
    )


def _encode_inspection(found: RunInspection) -> InspectionAnswer:
    return InspectionAnswer(
        blocks=[dict(block) for block in found.blocks],
        tools=[ToolInspectionAnswer(**asdict(tool)) for tool in found.tools],
        corpora=None if found.corpora is None else list(found.corpora),
        searched=list(found.searched),
        grounding=[GroundingAnswer(**asdict(item)) for item in found.grounding],
    )


def _encode_step(step: ToolStep) -> StepRecordAnswer:
    return StepRecordAnswer(
        position=step.position,
        tool_call_id=step.call_id,
        tool=step.tool,
        label=step.label,
        arguments=dict(step.arguments),
        outcome=step.outcome,
        failure=step.failure,
        result_summary=dict(step.facts),
        decisions=dict(step.account),
        model_id=step.model_id,
        started_at=step.started_at,
        finished_at=step.finished_at,
        duration_ms=step.duration_ms,
    )


def _encode_usage(used: UsageRecord) -> TurnUsageAnswer:
    model = used.model
    return TurnUsageAnswer(
        routing_class=used.task_class,
        model=ModelAnswer(provider=model.provider, model=model.model) if model else None,
        tokens=UsageAnswer(**{field.name: getattr(used.usage, field.name) for field in fields(Usage)}),
        complete=used.complete,
        cost_usd=None if used.cost_usd is None else float(used.cost_usd),
        priced_on=used.priced_on,
        tool_calls=used.tool_calls,
        passages_retrieved=used.passages,
        characters_retrieved=used.characters,
    )

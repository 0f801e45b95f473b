"""The audit of what assistants did, over the transcripts in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from equerry.domain.activity import (
    READ_RECORD,
    ActivityFilter,
    ActivityPlace,
    ActivityRow,
    DraftRecord,
    Fatigue,
    draft_action,
)
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import RunId, ToolCallId

from tests.fakes.transcripts import MemoryTranscripts

DRAFTS_FROM, READS_FROM = 1_000_000, 2_000_000


@dataclass(frozen=True)
class MemoryActivityAdapter:
    """ActivityPort in memory."""

    store: MemoryTranscripts = field(default_factory=MemoryTranscripts)

    def list_activity(
        self, scope: Scope, wanted: ActivityFilter, *, after: ActivityPlace | None, limit: int
    ) -> tuple[ActivityRow, ...]:
        rows = sorted(self._visible(scope), key=_order, reverse=True)
        kept = [row for row in rows if _matches(row, wanted) and (after is None or _order(row) < _key(after))]
        return tuple(kept[:limit])

    def record_draft(self, scope: Scope, draft: DraftRecord) -> None:
        tool = draft_action(draft.stage)
        with self.store.lock:
            taken = [row for (run_id, _), (_, row) in self.store.audit.items() if run_id == draft.run_id]
            if any(row.call_id == ToolCallId(draft.draft_id) and row.tool == tool for row in taken):
                return
            row = ActivityRow(
                run_id=draft.run_id,
                call_id=ToolCallId(draft.draft_id),
                position=self._next_place(draft.run_id, DRAFTS_FROM),
                user_id=scope.user_id,
                tool=tool,
                arguments={},
                outcome=draft.outcome,
                target=draft.target,
                operation=draft.operation,
                applied_record=draft.applied_record,
                edited=draft.edited,
                at=draft.at,
            )
            self.store.add_audit(scope.organisation_id, row)

    def record_reads(self, scope: Scope, run_ids: Sequence[RunId], *, at: datetime) -> None:
        with self.store.lock:
            for run_id in sorted(set(run_ids)):
                row = ActivityRow(
                    run_id=run_id,
                    call_id=ToolCallId(READ_RECORD),
                    position=self._next_place(run_id, READS_FROM),
                    user_id=scope.user_id,
                    tool=READ_RECORD,
                    arguments={},
                    outcome="ok",
                    at=at,
                )
                self.store.add_audit(scope.organisation_id, row)

    def fetch_fatigue(self, scope: Scope, *, since: datetime) -> Fatigue:
        accepted = [
            row for row in self._visible(scope) if row.tool == draft_action("accepted") and row.at >= since
        ]
        return Fatigue(accepted=len(accepted), unedited=sum(row.edited is False for row in accepted))

    def _next_place(self, run_id: RunId, first: int) -> int:
        taken = [at for run, at in self.store.audit if run == run_id and first <= at < first + DRAFTS_FROM]
        return max(taken, default=first - 1) + 1

    def _visible(self, scope: Scope) -> list[ActivityRow]:
        return [
            row
            for organisation, row in self.store.audit.values()
            if organisation == scope.organisation_id
            and (scope.role == "admin" or row.user_id == scope.user_id)
            and self._may_enter(scope, row.run_id)
        ]

    def _may_enter(self, scope: Scope, run_id: RunId) -> bool:
        run = self.store.runs.get(run_id)
        return run is None or self.store.may_enter(scope, run.conversation_id)


def _order(row: ActivityRow) -> tuple[datetime, str, int]:
    return _key(row.place)


def _key(place: ActivityPlace) -> tuple[datetime, str, int]:
    return (place.at, place.run_id, place.position)


def _matches(row: ActivityRow, wanted: ActivityFilter) -> bool:
    checks = (
        wanted.tool is None or row.tool == wanted.tool,
        wanted.exclude_tool is None or row.tool != wanted.exclude_tool,
        wanted.since is None or row.at >= wanted.since,
        wanted.before is None or row.at < wanted.before,
        wanted.outcome is None or row.outcome == wanted.outcome,
    )
    return all(checks)

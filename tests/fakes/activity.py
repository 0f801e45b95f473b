"""The audit of tool calls, over the transcripts in memory."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from equerry.domain.activity import ActivityFilter, ActivityPlace, ActivityRow
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import UserId

from tests.fakes.transcripts import MemoryTranscripts


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

    def _visible(self, scope: Scope) -> list[ActivityRow]:
        found: list[ActivityRow] = []
        for run_id, actions in self.store.actions.items():
            run = self.store.runs[run_id]
            organisation, user = self.store.conversations[run.conversation_id][0]
            if organisation != scope.organisation_id or (scope.role != "admin" and user != scope.user_id):
                continue
            found.extend(
                ActivityRow(
                    run_id=run_id,
                    call_id=action.call_id,
                    position=position,
                    user_id=UserId(user),
                    tool=action.tool,
                    arguments=action.arguments,
                    outcome="ok" if action.ok else "error",
                    summary=action.summary,
                    duration_ms=action.duration_ms,
                    at=run.ended_at or datetime.now(UTC),
                )
                for position, action in enumerate(actions)
            )
        return found


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

"""Records of runs in memory, with the same rules as the database."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from equerry.domain.principal import Scope
from equerry.domain.records import Incident, RecordPlace, RunRecord
from equerry.domain.steps import ToolStep
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import RunId

from tests.fakes.transcripts import MemoryTranscripts


@dataclass(frozen=True)
class MemoryRunRecordAdapter:
    """RunRecordPort in memory."""

    store: MemoryTranscripts = field(default_factory=MemoryTranscripts)

    def save_step(self, scope: Scope, run_id: RunId, step: ToolStep) -> None:
        with self.store.lock:
            self.store.keep_step(scope, run_id, step)

    def save_deliveries(self, scope: Scope, run_id: RunId, deliveries: Mapping[str, object]) -> None:
        with self.store.lock:
            record = self.store.records.get(run_id)
            owner = self.store.owner_of(record.conversation_id) if record else None
            if record is not None and owner == (scope.organisation_id, scope.user_id):
                self.store.records[run_id] = replace(record, deliveries=dict(deliveries))

    def fetch_record(self, scope: Scope, run_id: RunId) -> RunRecord:
        record = self.store.records.get(run_id)
        if record is None or not self._sees(scope, record):
            raise NotFound("there is no such run")
        return self._complete(record)

    def list_records(
        self, scope: Scope, incident: Incident, *, after: RecordPlace | None, limit: int
    ) -> tuple[RunRecord, ...]:
        found = [
            self._complete(record)
            for record in self.store.records.values()
            if self._sees(scope, record)
            and _fits(record, incident)
            and (after is None or _order(record) < (after.at, after.run_id))
        ]
        return tuple(sorted(found, key=_order, reverse=True)[:limit])

    def count_retrieved(self, scope: Scope, *, since: datetime) -> int:
        return sum(
            used.characters
            for run_id, (owner, used, at) in self.store.usages.items()
            if owner == (scope.organisation_id, scope.user_id)
            and at >= since
            and self.store.may_enter(scope, self.store.runs[run_id].conversation_id)
        )

    def _sees(self, scope: Scope, record: RunRecord) -> bool:
        organisation, user = self.store.owner_of(record.conversation_id)
        is_theirs = organisation == scope.organisation_id and (scope.role == "admin" or user == scope.user_id)
        return is_theirs and self.store.may_enter(scope, record.conversation_id)

    def _complete(self, record: RunRecord) -> RunRecord:
        used = self.store.usages.get(record.run_id)
        steps = self.store.steps.get(record.run_id, {})
        return replace(
            record, steps=tuple(steps[at] for at in sorted(steps)), usage=used[1] if used else None
        )


def _order(record: RunRecord) -> tuple[datetime, str]:
    return (record.created_at, record.run_id)


def _fits(record: RunRecord, incident: Incident) -> bool:
    return all(
        (
            not incident.run_ids or record.run_id in incident.run_ids,
            incident.profile in (None, record.profile),
            incident.since is None or record.created_at >= incident.since,
            incident.before is None or record.created_at < incident.before,
        )
    )

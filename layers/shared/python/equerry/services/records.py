"""Records of runs for whoever must explain one: its creator, and the organisation's administrators."""

from dataclasses import dataclass, replace

from equerry.domain.principal import Principal, Scope
from equerry.domain.records import Incident, RecordPlace, RunRecord
from equerry.domain.redaction import redact_value
from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import RunId
from equerry.ports.activity import ActivityPort
from equerry.ports.records import RunRecordPort


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecordService:
    """Shows records; who reads another's is audited first, so that no look goes unnoticed."""

    records: RunRecordPort
    activity: ActivityPort
    clock: Clock

    def fetch_record(self, scope: Scope, run_id: RunId) -> RunRecord:
        """Return one record: the scope's own, and for an administrator any of the organisation's.

        Raises:
            NotFound: unknown, or not for this scope.
        """
        record = self.records.fetch_record(scope, run_id)
        self._audit(scope, (record,))
        return _scrub(record)

    def list_incident(
        self, principal: Principal, incident: Incident, *, after: RecordPlace | None, limit: int
    ) -> tuple[RunRecord, ...]:
        """Return at most `limit` records of an incident, newest first.

        Raises:
            AdminRequired: the principal is no administrator.
        """
        principal.require_admin()
        found = self.records.list_records(principal.scope, incident, after=after, limit=limit)
        self._audit(principal.scope, found)
        return tuple(_scrub(record) for record in found)

    def _audit(self, scope: Scope, records: tuple[RunRecord, ...]) -> None:
        foreign = [record.run_id for record in records if record.user_id != scope.user_id]
        if foreign:
            self.activity.record_reads(scope, foreign, at=self.clock.now())


def _scrub(record: RunRecord) -> RunRecord:
    """Take out again what should never have come in."""
    steps = tuple(
        replace(
            step,
            arguments=_clean(step.arguments),
            facts=_clean(step.facts),
            account=_clean(step.account),
        )
        for step in record.steps
    )
    return replace(
        record, composition=_clean(record.composition), outcome=_clean(record.outcome), steps=steps
    )


def _clean(data: object) -> dict[str, object]:
    cleaned = redact_value(data)
    return cleaned if isinstance(cleaned, dict) else {}

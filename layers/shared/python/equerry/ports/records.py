"""What is kept of how runs went, for whoever must explain one."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from equerry.domain.principal import Scope
from equerry.domain.records import Incident, RecordPlace, RunRecord
from equerry.domain.steps import ToolStep
from equerry.kernel.identifiers import RunId


class RunRecordPort(Protocol):
    """Records of runs, written by whoever holds the run; they hold structure, never what was said."""

    def save_step(self, scope: Scope, run_id: RunId, step: ToolStep) -> None:
        """Keep a tool call, before it runs and again when it has finished; then the audit has it too.

        Changes nothing once the step has finished or the run has ended, and for a run that is not the
        scope's own.
        """
        ...

    def save_deliveries(self, scope: Scope, run_id: RunId, deliveries: Mapping[str, object]) -> None:
        """Keep what became of a run's envelopes, also after its end."""
        ...

    def fetch_record(self, scope: Scope, run_id: RunId) -> RunRecord:
        """Return one record: the scope's own, and for an administrator any of the organisation's.

        Raises:
            NotFound: unknown, or not for this scope.
        """
        ...

    def list_records(
        self, scope: Scope, incident: Incident, *, after: RecordPlace | None, limit: int
    ) -> tuple[RunRecord, ...]:
        """Return at most `limit` records of an incident, newest first; whose they are, as above."""
        ...

    def count_retrieved(self, scope: Scope, *, since: datetime) -> int:
        """Return the characters that the scope's person has had retrieved for them since then."""
        ...

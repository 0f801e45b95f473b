"""The audit of what assistants did, as administrators read it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from equerry.domain.activity import ActivityFilter, ActivityPlace, ActivityRow, DraftRecord, Fatigue
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import RunId


class ActivityPort(Protocol):
    """Reads the audit and adds to it; there is no way to change a row. Tool calls come with their steps."""

    def list_activity(
        self, scope: Scope, wanted: ActivityFilter, *, after: ActivityPlace | None, limit: int
    ) -> tuple[ActivityRow, ...]:
        """Return at most `limit` rows, newest first, beginning after `after`.

        An administrator sees the whole organisation's, anyone else their own.
        """
        ...

    def record_draft(self, scope: Scope, draft: DraftRecord) -> None:
        """Add a stage of a draft, once: the same draft and stage again change nothing."""
        ...

    def record_reads(self, scope: Scope, run_ids: Sequence[RunId], *, at: datetime) -> None:
        """Add that the scope's person reads the records of these runs, each time anew."""
        ...

    def fetch_fatigue(self, scope: Scope, *, since: datetime) -> Fatigue:
        """Return how drafts have been accepted since then, among the rows the scope sees."""
        ...

"""The audit of tool calls, as administrators read it."""

from typing import Protocol

from equerry.domain.activity import ActivityFilter, ActivityPlace, ActivityRow
from equerry.domain.principal import Scope


class ActivityPort(Protocol):
    """Reads the audit; there is no way to change it."""

    def list_activity(
        self, scope: Scope, wanted: ActivityFilter, *, after: ActivityPlace | None, limit: int
    ) -> tuple[ActivityRow, ...]:
        """Return at most `limit` rows, newest first, beginning after `after`.

        An administrator sees the whole organisation's, anyone else their own.
        """
        ...

"""Leases on conversations; expiry is judged in the condition of each write, never by deletion."""

from datetime import datetime
from typing import Protocol

from equerry.domain.leases import Lease
from equerry.kernel.identifiers import ConversationId, RunId


class LeasePort(Protocol):
    """One lease a conversation at most; AdmissionPort begins and ends them."""

    def find_lease(self, conversation_id: ConversationId) -> Lease | None:
        """Return the lease as last written (strongly consistent)."""
        ...

    def claim(
        self, conversation_id: ConversationId, run_id: RunId, *, now: datetime, until: datetime
    ) -> Lease:
        """Become the run's only writer: the token goes up by one.

        Succeeds if no worker has claimed the run yet, or the one that had is lapsed at `now`.

        Raises:
            LeaseLost: a live worker has it, or the run has no lease any more.
        """
        ...

    def renew(self, lease: Lease, *, until: datetime) -> Lease:
        """Stay alive.

        Raises:
            LeaseLost: somebody else claimed it, or it is gone.
        """
        ...

    def list_lapsed(self, *, now: datetime, limit: int) -> tuple[Lease, ...]:
        """Return up to `limit` leases that lapsed at `now` or before, in no order."""
        ...

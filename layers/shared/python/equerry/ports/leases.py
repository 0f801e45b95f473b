"""Leases on conversations; expiry is judged in the condition of each write, never by deletion."""

from datetime import datetime
from typing import Protocol

from equerry.domain.leases import Lease
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ConversationId, RunId


class LeasePort(Protocol):
    """One lease a conversation at most."""

    def acquire(
        self, conversation_id: ConversationId, run_id: RunId, scope: Scope, *, until: datetime
    ) -> Lease:
        """Take a free conversation for a waiting run (token 0); the same run again gets its lease again.

        Raises:
            TurnInProgress: another run has it, lapsed or not; `held` is its lease.
        """
        ...

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

    def release(self, lease: Lease) -> bool:
        """Free the conversation; False, changing nothing, if run or token differ."""
        ...

    def list_lapsed(self, *, now: datetime, limit: int) -> tuple[Lease, ...]:
        """Return up to `limit` leases that lapsed at `now` or before, in no order."""
        ...

"""Leases in memory."""

import threading
from dataclasses import replace
from datetime import datetime

from equerry.domain.leases import Lease, LeaseLost
from equerry.kernel.identifiers import ConversationId, RunId


class MemoryLeaseAdapter:
    """LeasePort over a dictionary and a lock."""

    def __init__(self) -> None:
        self.held: dict[ConversationId, Lease] = {}
        self.lock = threading.Lock()

    def find_lease(self, conversation_id: ConversationId) -> Lease | None:
        with self.lock:
            return self.held.get(conversation_id)

    def claim(
        self, conversation_id: ConversationId, run_id: RunId, *, now: datetime, until: datetime
    ) -> Lease:
        with self.lock:
            held = self.held.get(conversation_id)
            if held is None or held.run_id != run_id or (held.token > 0 and not held.is_lapsed(now)):
                raise LeaseLost(f"run {run_id} has another live worker, or no lease")
            claimed = replace(held, token=held.token + 1, until=until)
            self.held[conversation_id] = claimed
            return claimed

    def renew(self, lease: Lease, *, until: datetime) -> Lease:
        with self.lock:
            if not self.is_held(lease):
                raise LeaseLost(f"run {lease.run_id} does not hold its lease any more")
            renewed = replace(self.held[lease.conversation_id], until=until)
            self.held[lease.conversation_id] = renewed
            return renewed

    def list_lapsed(self, *, now: datetime, limit: int) -> tuple[Lease, ...]:
        with self.lock:
            return tuple(lease for lease in self.held.values() if lease.is_lapsed(now))[:limit]

    def is_held(self, lease: Lease) -> bool:
        """Whether nobody else has claimed it; asked under the lock."""
        held = self.held.get(lease.conversation_id)
        return held is not None and (held.run_id, held.token) == (lease.run_id, lease.token)

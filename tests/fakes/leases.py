"""Leases in memory."""

import threading
from dataclasses import replace
from datetime import datetime

from equerry.domain.leases import Lease, LeaseLost, TurnInProgress
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ConversationId, RunId


class MemoryLeaseAdapter:
    """LeasePort over a dictionary and a lock."""

    def __init__(self) -> None:
        self._held: dict[ConversationId, Lease] = {}
        self._lock = threading.Lock()

    def acquire(
        self, conversation_id: ConversationId, run_id: RunId, scope: Scope, *, until: datetime
    ) -> Lease:
        wanted = Lease(conversation_id=conversation_id, run_id=run_id, scope=scope, token=0, until=until)
        with self._lock:
            held = self._held.setdefault(conversation_id, wanted)
        if held.run_id != run_id:
            raise TurnInProgress(held)
        return held

    def find_lease(self, conversation_id: ConversationId) -> Lease | None:
        with self._lock:
            return self._held.get(conversation_id)

    def claim(
        self, conversation_id: ConversationId, run_id: RunId, *, now: datetime, until: datetime
    ) -> Lease:
        with self._lock:
            held = self._held.get(conversation_id)
            if held is None or held.run_id != run_id or (held.token > 0 and not held.is_lapsed(now)):
                raise LeaseLost(f"run {run_id} has another live worker, or no lease")
            claimed = replace(held, token=held.token + 1, until=until)
            self._held[conversation_id] = claimed
            return claimed

    def renew(self, lease: Lease, *, until: datetime) -> Lease:
        with self._lock:
            if not self._is_held(lease):
                raise LeaseLost(f"run {lease.run_id} does not hold its lease any more")
            renewed = replace(self._held[lease.conversation_id], until=until)
            self._held[lease.conversation_id] = renewed
            return renewed

    def release(self, lease: Lease) -> bool:
        with self._lock:
            if not self._is_held(lease):
                return False
            del self._held[lease.conversation_id]
            return True

    def list_lapsed(self, *, now: datetime, limit: int) -> tuple[Lease, ...]:
        with self._lock:
            return tuple(lease for lease in self._held.values() if lease.is_lapsed(now))[:limit]

    def _is_held(self, lease: Lease) -> bool:
        held = self._held.get(lease.conversation_id)
        return held is not None and (held.run_id, held.token) == (lease.run_id, lease.token)

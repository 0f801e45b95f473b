"""The lease that lets one run at a time have a conversation."""

from dataclasses import dataclass
from datetime import datetime

from equerry.domain.budget import Reservation
from equerry.domain.principal import Scope
from equerry.kernel.errors import Conflict
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.kernel.kinds import entity


@entity
@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A conversation is taken by a run.

    Attributes:
        scope: for whom the run works; a worker learns it here and nowhere else.
        token: fencing token; 0 while the run waits, one more at each claim by a worker.
        until: when the holder counts as dead unless it renews (aware, UTC).
        reservation: the tokens set aside for the run, settled with the lease's end; None on a lease from
            before there were any.
    """

    conversation_id: ConversationId
    run_id: RunId
    scope: Scope
    token: int
    until: datetime
    reservation: Reservation | None = None

    def is_lapsed(self, now: datetime) -> bool:
        """Whether its holder counts as dead."""
        return self.until <= now


class TurnInProgress(Conflict):
    """Another run has the conversation."""

    code = "turn_in_progress"

    def __init__(self, held: Lease) -> None:
        super().__init__("a turn is already running in this conversation; wait for it or cancel it")
        self.held = held


class LeaseLost(Conflict):
    """The lease is not this holder's any more: stop at once, write nothing."""

    code = "lease_lost"

"""What entry points ask of the settling of runs."""

from typing import Protocol

from equerry.domain.conversations import Run
from equerry.domain.leases import Lease


class Settlement(Protocol):
    """The part of RecoveryService that a question may need; few do, so it may be loaded when one does."""

    def settle(self, lease: Lease) -> bool:
        """See RecoveryService."""
        ...

    def end_unclaimed(self, run: Run) -> bool:
        """See RecoveryService."""
        ...

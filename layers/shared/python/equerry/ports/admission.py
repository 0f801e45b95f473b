"""Admission of turns: rates, tokens and the conversation are taken together, or none of them is."""

from typing import Protocol

from equerry.domain.admission import Admission, AdmissionRequest
from equerry.domain.leases import Lease


class AdmissionPort(Protocol):
    """What turns are counted by, atomically and without regard to which process asks."""

    def admit(self, request: AdmissionRequest) -> Admission:
        """Count a turn, reserve its tokens, take its conversation; the same run again gets its lease again.

        A turn that is refused counts nowhere.

        Raises:
            Every refusal of `equerry.domain.admission.judge`, the first in its order.
            Unavailable: unknown whether it was admitted; a lease that nobody uses lapses and is settled.
        """
        ...

    def settle(self, lease: Lease, *, spent: int | None) -> bool:
        """Free the conversation and give back what was reserved and not spent, to the bucket it came from.

        Both happen in one write, so a reservation is settled once: by whoever frees the conversation.

        Args:
            spent: tokens; more than was reserved is charged too. None if it cannot be known: then all that
                was reserved stays charged, and leaves the window with its hour.

        Returns:
            False, changing nothing, if run or token differ, or the lease is gone.

        Raises:
            Unavailable: unknown whether it was done; settling again is safe.
        """
        ...

"""Models that are left alone for a while, known to every process."""

from datetime import datetime
from typing import Protocol

from equerry.domain.breaker import Cooling
from equerry.engine.model import ModelChoice


class ProviderHealthPort(Protocol):
    """What is cooled; a model that is not listed is well.

    Raises (every method):
        Unavailable: the store does not answer; whoever asks goes by what it has seen itself.
    """

    def list_cooled(self) -> tuple[Cooling, ...]:
        """Return everything cooled, also what may be tried again, in no order; may be a moment old."""
        ...

    def cool(self, cooling: Cooling) -> None:
        """Leave a model alone; of two spells the later end stands."""
        ...

    def claim_probe(self, cooling: Cooling, *, until: datetime) -> bool:
        """Become the one who tries a model whose spell is over: nobody else does before `until`.

        Returns False if somebody was faster, or the cooling is no longer the one that was seen.
        """
        ...

    def clear(self, choice: ModelChoice) -> None:
        """It is well again; one that was well already stays so."""
        ...

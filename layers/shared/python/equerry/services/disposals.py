"""What rows that went left in other stores, removed store by store until nothing is noted any more."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from equerry.kernel.clock import Clock
from equerry.ports.disposals import Disposal, DisposalPort, RemainsPort

_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class DisposalService:
    """Disposes of remains; a note is forgotten only after every store has done its part.

    Attributes:
        stores: by the name their removals are counted under, in the order they are asked.
    """

    disposals: DisposalPort
    stores: Mapping[str, RemainsPort]
    clock: Clock

    def drain(
        self, *, time_s: float, organisation_id: str | None = None, user_id: str | None = None
    ) -> tuple[Mapping[str, int], bool]:
        """Dispose of all that is due, or of an organisation's or a person's alone.

        Returns:
            What each store removed, and whether nothing due is left.
        """
        deadline_s = self.clock.monotonic_s() + time_s
        removed: Counter[str] = Counter(dict.fromkeys(self.stores, 0))
        while self.clock.monotonic_s() < deadline_s:
            due = self.disposals.list_due(
                now=self.clock.now(), limit=_PAGE, organisation_id=organisation_id, user_id=user_id
            )
            if not due:
                return dict(removed), True
            removed.update(self.dispose(*due))
            self.disposals.finish(due)
        return dict(removed), False

    def dispose_organisation(self, organisation_id: str) -> Mapping[str, int]:
        """Remove all that an organisation has; for its purge alone, which has just asked for its status."""
        removed = self.dispose(Disposal(disposal_id=0, kind="organisation", organisation_id=organisation_id))
        self.disposals.forget_covered(organisation_id, now=self.clock.now())
        return removed

    def dispose(self, *disposals: Disposal) -> Mapping[str, int]:
        """Remove what these left, noted or not; returns what each store removed."""
        return {name: store.dispose(disposals) for name, store in self.stores.items()}

"""Where a reader stands in a run."""

from dataclasses import dataclass

from equerry.kernel.identifiers import RunId
from equerry.kernel.kinds import value


@value
@dataclass(frozen=True, slots=True)
class Marker:
    """A reader has everything of a run up to and including `seq`; 0 is the beginning."""

    run_id: RunId
    seq: int = 0

    def __post_init__(self) -> None:
        if self.seq < 0:
            raise ValueError(f"a marker's seq must be >= 0, got {self.seq}")

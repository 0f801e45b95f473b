"""What a run retrieved: the only material its citations can point at."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256

from equerry.domain.corpora import Passage
from equerry.kernel.identifiers import PassageId, RunId


@dataclass(slots=True)
class Evidence:
    """The passages of one run, each under a handle that means nothing in any other run."""

    run_id: RunId
    _passages: dict[str, Passage] = field(default_factory=dict)

    def admit(self, passages: Iterable[Passage]) -> tuple[tuple[str, Passage], ...]:
        """Take passages in; return them with their handles, in order. A passage keeps its handle."""
        admitted = tuple((self._handle_of(passage.passage_id), passage) for passage in passages)
        self._passages.update(admitted)
        return admitted

    def find_passage(self, handle: str) -> Passage | None:
        """Return the passage behind a handle of this run."""
        return self._passages.get(handle)

    @property
    def passage_ids(self) -> tuple[PassageId, ...]:
        """Everything retrieved, in the order it first came."""
        # Copied in one step: a search that was left behind may still admit what it finds.
        return tuple(passage.passage_id for passage in list(self._passages.values()))

    def _handle_of(self, passage_id: PassageId) -> str:
        return "p" + sha256(f"{self.run_id}\x1f{passage_id}".encode()).hexdigest()[:8]

"""A person's rows in the database, and the proof that they went."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from equerry.domain.retention import ErasureRequest


class ErasurePort(Protocol):
    """Erases people across organisations, under the platform role."""

    def begin(self, request: ErasureRequest, *, at: datetime) -> None:
        """Note that a person is being erased, outside any tenant's data, until that is completed.

        The same request again takes it up anew, also when it had been completed.
        """
        ...

    def list_unfinished(self) -> tuple[ErasureRequest, ...]:
        """Return erasures that began and were not completed, oldest first."""
        ...

    def erase_rows(self, request: ErasureRequest, *, again_at: datetime) -> Mapping[str, int]:
        """Remove a person's rows in one transaction, and say how many of each table.

        Documents that only this person may read go with their passages; from others the person's key goes.
        In the same transaction their remains elsewhere are noted, and those of runs that are still under way
        a second time for `again_at`, as their worker may still write.
        """
        ...

    def complete(self, request: ErasureRequest, removed: Mapping[str, int], *, at: datetime) -> None:
        """Record what went from other stores, and that it is done; the person's id is forgotten with that."""
        ...

"""What the sweep removes, under the platform role."""

from datetime import datetime
from typing import Protocol

from equerry.domain.retention import Shortening
from equerry.kernel.identifiers import OrganisationId


class RetentionPort(Protocol):
    """Bounded deletions across tenants; each call takes one batch and says how many it removed.

    With `organisation_id` only that organisation's.
    """

    def list_shortenings(self) -> tuple[Shortening, ...]:
        """Return the organisations that keep something for less time than the platform, by id."""
        ...

    def delete_conversations(
        self, *, unchanged_since: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        """Remove conversations, with all that hangs on them, that nobody touched since then.

        In the same transaction their remains in other stores are noted for DisposalPort.
        """
        ...

    def delete_audit(
        self, *, older_than: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        """Remove what is kept of actions and of usage, which outlive their conversation, from before then."""
        ...

    def delete_superseded_passages(
        self, *, superseded_before: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        """Remove passages that a newer version replaced before then."""
        ...

    def delete_withdrawn_documents(
        self, *, withdrawn_before: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        """Remove documents that were withdrawn before then and have no passage left."""
        ...


class CounterPort(Protocol):
    """What turns are counted by."""

    def delete_counters(self, *, now: datetime) -> int:
        """Remove counters and idempotency keys that no window looks at any more; says how many."""
        ...

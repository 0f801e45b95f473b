"""What the scheduled sweep removes, under the platform role."""

from datetime import datetime
from typing import Protocol


class RetentionPort(Protocol):
    """Bounded deletions across tenants; each call takes one batch and says how many it removed."""

    def delete_conversations(self, *, unchanged_since: datetime, limit: int) -> int:
        """Remove conversations, with all that hangs on them, that nobody touched since then."""
        ...

    def delete_audit(self, *, older_than: datetime, limit: int) -> int:
        """Remove what is kept of actions and of usage, which outlive their conversation, from before then."""
        ...

    def delete_superseded_passages(self, *, superseded_before: datetime, limit: int) -> int:
        """Remove passages that a newer version replaced before then."""
        ...

"""What operators have said of organisations."""

from typing import Protocol

from equerry.domain.principal import Scope
from equerry.domain.tenancy import Tenancy


class TenancyPort(Protocol):
    """Standings of organisations; each sees its own alone."""

    def find_tenancy(self, scope: Scope) -> Tenancy | None:
        """Return the scope's organisation's standing; None if nobody has said anything.

        Raises:
            Unavailable: unknown; let nobody in.
        """
        ...

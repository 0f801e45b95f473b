"""The product's own directory: who belongs to which projects."""

from typing import Protocol

from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ProjectId


class DirectoryPort(Protocol):
    """Memberships as they are now, or were a few seconds ago."""

    def list_projects(self, scope: Scope) -> tuple[ProjectId, ...]:
        """Return the projects the person belongs to, sorted; none for one whom nobody knows.

        Raises:
            Unavailable: nobody can say; show nothing that belongs to a project, and nothing else either.
        """
        ...

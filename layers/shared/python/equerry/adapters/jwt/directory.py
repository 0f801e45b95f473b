"""Who belongs to which projects, as their own tokens say."""

from dataclasses import dataclass

from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ProjectId


@dataclass(frozen=True, slots=True)
class TokenDirectoryAdapter:
    """DirectoryPort for a product without one: who leaves a project keeps it until their token ends."""

    def list_projects(self, scope: Scope) -> tuple[ProjectId, ...]:
        """See DirectoryPort."""
        return tuple(sorted(scope.project_ids))

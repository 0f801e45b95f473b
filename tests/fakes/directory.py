"""A directory of projects that a test rewrites as it goes."""

from dataclasses import dataclass, field

from equerry.domain.principal import Scope
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import ProjectId


@dataclass
class MemoryDirectoryAdapter:
    """DirectoryPort over a dictionary; `asked` counts, and unreachable it knows nobody."""

    members: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    reachable: bool = True
    asked: int = 0

    def list_projects(self, scope: Scope) -> tuple[ProjectId, ...]:
        self.asked += 1
        if not self.reachable:
            raise Unavailable("the directory of projects does not answer")
        found = self.members.get((scope.organisation_id, scope.user_id), set())
        return tuple(ProjectId(project) for project in sorted(found))

    def join(self, scope: Scope, *projects: str) -> None:
        """Let a person belong to projects from now on."""
        self.members.setdefault((scope.organisation_id, scope.user_id), set()).update(projects)

    def leave(self, scope: Scope, *projects: str) -> None:
        """Let a person belong to them no more."""
        self.members.get((scope.organisation_id, scope.user_id), set()).difference_update(projects)

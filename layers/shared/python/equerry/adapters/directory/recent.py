"""A directory's answers, kept for seconds."""

import threading
from typing import Final

from equerry.domain.principal import Scope
from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import OrganisationId, ProjectId, UserId
from equerry.ports.directory import DirectoryPort

KEPT_S: Final = 5.0
"""How long somebody who has left a project may still see what it holds."""
MOST: Final = 1_000

Key = tuple[OrganisationId, UserId]


class RecentDirectoryAdapter:
    """DirectoryPort that asks another at most every five seconds about one person; shared by threads.

    A failure is not kept, and no older answer stands in for it.
    """

    def __init__(self, directory: DirectoryPort, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        self._found: dict[Key, tuple[float, tuple[ProjectId, ...]]] = {}
        self._lock = threading.Lock()

    def list_projects(self, scope: Scope) -> tuple[ProjectId, ...]:
        """See DirectoryPort."""
        key = (scope.organisation_id, scope.user_id)
        asked_s = self._clock.monotonic_s()
        with self._lock:
            known = self._found.get(key)
        if known is not None and asked_s - known[0] < KEPT_S:
            return known[1]
        projects = self._directory.list_projects(scope)
        with self._lock:
            self._found.pop(key, None)
            self._found[key] = (asked_s, projects)
            if len(self._found) > MOST:
                del self._found[next(iter(self._found))]
        return projects

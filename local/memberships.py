"""Who belongs to which projects on this stack, where that was changed since local/users.toml was written."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from local.files import read_json, write_json
from local.places import Places
from local.tokens import Person, load_people

FILE = "projects.json"


@dataclass(frozen=True, slots=True)
class Memberships:
    """What the local directory answers by: `projects.json` in the state folder, else the demo users' own."""

    file: Path

    def find_projects(self, organisation_id: str, user_id: str) -> tuple[str, ...] | None:
        """Return somebody's projects, sorted, read anew each time; None for who is not known at all."""
        changed = (read_json(self.file) or {}).get(organisation_id, {}).get(user_id)
        return _find_stated(load_people(), organisation_id, user_id) if changed is None else tuple(changed)

    def change_projects(
        self, organisation_id: str, user_id: str, *, join: Iterable[str] = (), leave: Iterable[str] = ()
    ) -> tuple[str, ...]:
        """Let somebody, who need not be known yet, join and then leave projects; return what they have."""
        before = self.find_projects(organisation_id, user_id) or ()
        projects = tuple(sorted({*before, *join} - {*leave}))
        content = read_json(self.file) or {}
        content.setdefault(organisation_id, {})[user_id] = projects
        write_json(self.file, content)
        return projects


def open_memberships(places: Places) -> Memberships:
    """Return the memberships of a stack."""
    return Memberships(places.state / FILE)


def _find_stated(people: Iterable[Person], organisation_id: str, user_id: str) -> tuple[str, ...] | None:
    for person in people:
        if (person.organisation_id, person.user_id) == (organisation_id, user_id):
            return person.projects
    return None

"""Profiles as TOML files in one folder."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from equerry.domain.profiles import InvalidProfile, Profile, UnknownProfile, read_profile


@dataclass(frozen=True, slots=True)
class FolderProfileAdapter:
    """Reads `<name>.toml` once; the folder ships with the function and never changes under it."""

    folder: Path
    _read: dict[str, Profile] = field(default_factory=dict)

    def fetch_profile(self, name: str) -> Profile:
        """See ProfilePort."""
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def _load(self, name: str) -> Profile:
        # Names come from people: only a file that the folder lists is ever opened.
        path = {file.stem: file for file in self.folder.glob("*.toml")}.get(name)
        if path is None:
            known = ", ".join(sorted(file.stem for file in self.folder.glob("*.toml"))) or "none"
            raise UnknownProfile(f"there is no profile {name[:80]!r}; installed are: {known}")
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as broken:
            raise InvalidProfile(f"profile {name!r} is not valid TOML: {broken}") from broken
        return read_profile(name, data)

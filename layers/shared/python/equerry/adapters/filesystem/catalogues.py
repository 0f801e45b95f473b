"""Route catalogues as TOML or JSON files in one folder."""

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from equerry.domain.catalogue import InvalidCatalogue, RouteCatalogue, UnknownCatalogue, read_catalogue


@dataclass(frozen=True, slots=True)
class FolderCatalogueAdapter:
    """Reads `<name>.toml` or `<name>.json` at first use; the folder never changes under the function."""

    folder: Path
    _read: dict[str, RouteCatalogue] = field(default_factory=dict)

    def fetch_catalogue(self, name: str) -> RouteCatalogue:
        """See CataloguePort."""
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def _load(self, name: str) -> RouteCatalogue:
        files = {file.stem: file for suffix in ("json", "toml") for file in self.folder.glob(f"*.{suffix}")}
        if name not in files:
            known = ", ".join(sorted(files)) or "none"
            raise UnknownCatalogue(f"there is no catalogue {name[:80]!r}; installed are: {known}")
        text = files[name].read_text(encoding="utf-8")
        try:
            data = json.loads(text) if files[name].suffix == ".json" else tomllib.loads(text)
        except ValueError as broken:
            raise InvalidCatalogue(f"{files[name].name} cannot be read: {broken}") from broken
        return read_catalogue(name, data)

"""A folder of documents."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from equerry.domain.corpora import EVERYONE, SourceFile
from equerry.domain.pipeline import READABLE_SUFFIXES
from equerry.kernel.errors import NotFound


@dataclass(frozen=True, slots=True)
class FolderConnectorAdapter:
    """ConnectorPort over a folder; hidden files and links that lead out of it are left alone."""

    folder: Path
    visible_to: tuple[str, ...] = (EVERYONE,)

    def list_files(self) -> Iterator[SourceFile]:
        """See ConnectorPort."""
        root = self.folder.resolve()
        readable = (file for file in root.rglob("*") if _is_readable(file, root))
        for path, file in sorted((file.relative_to(root).as_posix(), file) for file in readable):
            content = file.read_bytes()
            yield SourceFile(
                path=path,
                sha256=hashlib.sha256(content).hexdigest(),
                size_bytes=len(content),
                visible_to=self.visible_to,
            )

    def fetch_content(self, path: str) -> bytes:
        """See ConnectorPort."""
        root = self.folder.resolve()
        file = root / path
        if not _is_readable(file, root):
            raise NotFound(f"{path} is not in the folder any more")
        return file.read_bytes()


def _is_readable(file: Path, root: Path) -> bool:
    if file.suffix.lower() not in READABLE_SUFFIXES or not file.is_file():
        return False
    if not file.resolve().is_relative_to(root):
        return False
    return not any(part.startswith(".") for part in file.relative_to(root).parts)

"""A source of documents in memory."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from equerry.domain.corpora import SourceFile
from equerry.kernel.errors import NotFound


@dataclass
class MemoryConnectorAdapter:
    """ConnectorPort over a dictionary."""

    files: dict[str, bytes] = field(default_factory=dict)

    def list_files(self) -> Iterator[SourceFile]:
        for path, content in sorted(self.files.items()):
            yield SourceFile(path=path, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))

    def fetch_content(self, path: str) -> bytes:
        try:
            return self.files[path]
        except KeyError:
            raise NotFound(f"{path} is not there any more") from None

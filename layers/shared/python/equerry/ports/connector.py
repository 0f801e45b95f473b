"""Sources of documents."""

from collections.abc import Iterator
from typing import Protocol

from equerry.domain.corpora import SourceFile


class ConnectorPort(Protocol):
    """Somewhere documents live."""

    def list_files(self) -> Iterator[SourceFile]:
        """Yield every readable document once, by path."""
        ...

    def fetch_content(self, path: str) -> bytes:
        """Return a listed document's bytes.

        Raises:
            NotFound: it is not there any more.
        """
        ...

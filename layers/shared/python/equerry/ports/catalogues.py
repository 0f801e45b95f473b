"""Installed route catalogues."""

from typing import Protocol

from equerry.domain.catalogue import RouteCatalogue


class CataloguePort(Protocol):
    """Catalogues by name."""

    def fetch_catalogue(self, name: str) -> RouteCatalogue:
        """Return the catalogue; one that was read once is in memory.

        Raises:
            UnknownCatalogue: none of that name.
            InvalidCatalogue: it is installed and does not fit.
        """
        ...

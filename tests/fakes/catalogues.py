"""Route catalogues in memory."""

from equerry.domain.catalogue import RouteCatalogue, UnknownCatalogue


class MemoryCatalogueAdapter:
    """CataloguePort over the catalogues it was given; `fetched` names each that was asked for."""

    def __init__(self, *catalogues: RouteCatalogue) -> None:
        self._catalogues = {catalogue.name: catalogue for catalogue in catalogues}
        self.fetched: list[str] = []

    def fetch_catalogue(self, name: str) -> RouteCatalogue:
        self.fetched.append(name)
        if name not in self._catalogues:
            known = ", ".join(sorted(self._catalogues)) or "none"
            raise UnknownCatalogue(f"there is no catalogue {name!r}; installed are: {known}")
        return self._catalogues[name]

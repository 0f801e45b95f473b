"""CataloguePort, over the fake and over a folder."""

import json
from pathlib import Path

import pytest
from equerry.adapters.filesystem.catalogues import FolderCatalogueAdapter
from equerry.domain.catalogue import InvalidCatalogue, UnknownCatalogue, read_catalogue
from equerry.ports.catalogues import CataloguePort

from local.places import ROOT
from tests.fakes.catalogues import MemoryCatalogueAdapter

SHOP = [{"id": "orders", "label": "Orders", "path": "/orders", "synonyms": ["purchases"]}]


@pytest.fixture(params=["memory", "json", "toml"])
def catalogues(request: pytest.FixtureRequest, tmp_path: Path) -> CataloguePort:
    """One installed catalogue, `shop`."""
    if request.param == "memory":
        return MemoryCatalogueAdapter(read_catalogue("shop", SHOP))
    entry = ", ".join(f"{key} = {json.dumps(text)}" for key, text in SHOP[0].items())
    text = json.dumps(SHOP) if request.param == "json" else f"routes = [{{ {entry} }}]"
    (tmp_path / f"shop.{request.param}").write_text(text, encoding="utf-8")
    return FolderCatalogueAdapter(tmp_path)


def test_a_catalogue_is_fetched_by_its_name(catalogues: CataloguePort) -> None:
    assert catalogues.fetch_catalogue("shop") == read_catalogue("shop", SHOP)


@pytest.mark.parametrize("name", ["nobody", "", "../shop", "shop.json", "SHOP"])
def test_an_unknown_name_is_told_with_those_there_are(catalogues: CataloguePort, name: str) -> None:
    with pytest.raises(UnknownCatalogue, match="installed are: shop"):
        catalogues.fetch_catalogue(name)


@pytest.mark.req("A-NAV-01")
def test_a_catalogue_is_read_when_it_is_first_asked_for_and_then_kept(tmp_path: Path) -> None:
    catalogues = FolderCatalogueAdapter(tmp_path)
    file = tmp_path / "shop.json"
    file.write_text(json.dumps(SHOP), encoding="utf-8")
    first = catalogues.fetch_catalogue("shop")

    file.unlink()

    assert catalogues.fetch_catalogue("shop") is first


@pytest.mark.parametrize("text", ["[", "[]", '[{"id": "a"}]', "{}", '"orders"'])
def test_a_file_that_does_not_fit_is_told_and_asked_again_next_time(tmp_path: Path, text: str) -> None:
    catalogues = FolderCatalogueAdapter(tmp_path)
    (tmp_path / "shop.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidCatalogue, match="shop"):
        catalogues.fetch_catalogue("shop")

    (tmp_path / "shop.json").write_text(json.dumps(SHOP), encoding="utf-8")

    assert catalogues.fetch_catalogue("shop").routes[0].path == "/orders"


def test_every_catalogue_that_ships_fits() -> None:
    folder = ROOT / "profiles" / "catalogues"
    names = sorted(file.stem for file in folder.iterdir())

    assert names
    assert all(FolderCatalogueAdapter(folder).fetch_catalogue(name).list_offered() for name in names)

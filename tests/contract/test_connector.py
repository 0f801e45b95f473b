"""ConnectorPort: over a folder and over the fake."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from equerry.adapters.filesystem.folders import FolderConnectorAdapter
from equerry.kernel.errors import NotFound
from equerry.ports.connector import ConnectorPort

from tests.fakes.connector import MemoryConnectorAdapter

Fill = Callable[[dict[str, bytes]], ConnectorPort]


@pytest.fixture(params=["memory", "folder"])
def fill(request: pytest.FixtureRequest, tmp_path: Path) -> Fill:
    def fill(files: dict[str, bytes]) -> ConnectorPort:
        if request.param == "memory":
            return MemoryConnectorAdapter(files)
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(content)
        return FolderConnectorAdapter(tmp_path)

    return fill


def test_every_document_is_listed_once_by_path(fill: Fill) -> None:
    connector = fill({"b.md": b"two", "a/x.html": b"<p>one", "B.txt": b"", "ä.md": b"three"})

    listed = list(connector.list_files())

    assert [file.path for file in listed] == ["B.txt", "a/x.html", "b.md", "ä.md"]
    assert [file.size_bytes for file in listed] == [0, 6, 3, 5]
    assert listed[2].sha256 == hashlib.sha256(b"two").hexdigest()


def test_a_listed_documents_bytes_can_be_fetched(fill: Fill) -> None:
    connector = fill({"a/x.md": b"content"})

    assert connector.fetch_content("a/x.md") == b"content"


def test_what_is_gone_is_not_found(fill: Fill) -> None:
    with pytest.raises(NotFound):
        fill({"a.md": b"x"}).fetch_content("b.md")


def test_hidden_files_other_formats_and_links_out_of_the_folder_are_left_alone(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "a.md").write_text("hidden")
    (root / ".secret.md").write_text("hidden")
    (root / "program.exe").write_bytes(b"x")
    (root / "a.md").write_text("shown")
    (tmp_path / "outside.md").write_text("outside")
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    (root / "inner.md").symlink_to(root / "a.md")
    connector = FolderConnectorAdapter(root)

    assert [file.path for file in connector.list_files()] == ["a.md", "inner.md"]
    for path in ("../outside.md", "link.md", ".secret.md", "program.exe"):
        with pytest.raises(NotFound):
            connector.fetch_content(path)

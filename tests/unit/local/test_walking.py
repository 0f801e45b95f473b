import hashlib
import os
from pathlib import Path

import pytest

from local.cli.walking import walk
from local.errors import LocalError


def test_supported_files_are_found_with_their_hash_and_relative_path(tmp_path: Path) -> None:
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "Start.MD").write_bytes(b"# Start")
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    (tmp_path / "logo.png").write_bytes(b"x")

    found = walk(tmp_path)

    assert [source.path for source in found.sources] == ["a.pdf", "guide/Start.MD"]
    assert found.sources[1].sha256 == hashlib.sha256(b"# Start").hexdigest()
    assert found.sources[1].size_bytes == 7
    assert found.unsupported == ("logo.png",)


def test_empty_files_are_told_apart_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "empty.md").touch()

    found = walk(tmp_path)

    assert [source.path for source in found.sources] == ["a.txt"]
    assert found.empty == ("empty.md",)


def test_a_file_whose_name_cannot_be_sent_is_told_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff.txt")).write_text("x")

    assert walk(tmp_path).unreadable == {"'b\\udcff.txt'": "its name is not UTF-8"}


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "description.txt").write_text("x")
    (tmp_path / "a.txt").write_text("x")

    assert [source.path for source in walk(tmp_path).sources] == ["a.txt"]


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "private.txt"
    inside.mkdir()
    outside.write_text("secret")
    (inside / "a.txt").write_text("x")
    (inside / "link.txt").symlink_to(outside)

    found = walk(inside)

    assert [source.path for source in found.sources] == ["a.txt"]
    assert found.links == ("link.txt",)


def test_a_link_that_leads_nowhere_is_named_and_one_within_the_folder_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (tmp_path / ".hidden.md").symlink_to(tmp_path / "nowhere.md")

    found = walk(tmp_path)

    assert [source.path for source in found.sources] == ["a.txt", "b.txt"]
    assert found.links == ("gone.md",)


def test_one_file_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")

    assert [source.path for source in walk(tmp_path / "a.txt").sources] == ["a.txt"]


def test_no_such_path_is_said(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="there is no"):
        walk(tmp_path / "nowhere")


def test_an_empty_folder_is_said_with_what_is_supported(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(b"x")

    with pytest.raises(LocalError, match="nothing that can be indexed") as caught:
        walk(tmp_path)

    assert ".md" in caught.value.remedy

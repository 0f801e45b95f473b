"""ProfilePort, over the fake and over a folder."""

from pathlib import Path

import pytest
from equerry.adapters.filesystem.profiles import FolderProfileAdapter
from equerry.domain.profiles import InvalidProfile, UnknownProfile, read_profile
from equerry.ports.profiles import ProfilePort

from tests.fakes.profiles import MemoryProfileAdapter

NOTES = {
    "title": "Notes",
    "identity": "You know the release notes.",
    "guidance": "Search first.",
    "tools": ["search_docs"],
}
PROFILES = {"notes": NOTES, "plain": {**NOTES, "tools": []}}


@pytest.fixture(params=["memory", "folder"])
def profiles(request: pytest.FixtureRequest, tmp_path: Path) -> ProfilePort:
    """Two installed profiles."""
    if request.param == "memory":
        return MemoryProfileAdapter(*(read_profile(name, data) for name, data in PROFILES.items()))
    for name, data in PROFILES.items():
        lines = [f"{key} = {entry!r}" for key, entry in data.items()]
        (tmp_path / f"{name}.toml").write_text("\n".join(lines), encoding="utf-8")
    return FolderProfileAdapter(tmp_path)


def test_a_profile_is_fetched_by_its_name(profiles: ProfilePort) -> None:
    assert profiles.fetch_profile("notes") == read_profile("notes", NOTES)
    assert profiles.fetch_profile("plain").tools == ()


def test_the_same_content_has_the_same_version_and_other_content_another(profiles: ProfilePort) -> None:
    notes, again, plain = (profiles.fetch_profile(name) for name in ("notes", "notes", "plain"))

    assert notes.version == again.version
    assert notes.version != plain.version


@pytest.mark.parametrize("name", ["nobody", "", "../notes", "notes.toml", "NOTES", "notes\x00"])
def test_an_unknown_name_is_told_with_those_there_are(profiles: ProfilePort, name: str) -> None:
    with pytest.raises(UnknownProfile, match="installed are: notes, plain"):
        profiles.fetch_profile(name)


@pytest.mark.parametrize("text", ["title = 'Only a title'", "title = "])
def test_a_file_that_does_not_fit_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "broken.toml").write_text(text, encoding="utf-8")

    with pytest.raises(InvalidProfile, match="'broken'"):
        FolderProfileAdapter(tmp_path).fetch_profile("broken")

"""One validator for profiles, which lists every problem at once."""

import pytest
from equerry.domain.profiles import PLATFORM_LIMITS, InvalidProfile, read_profile
from equerry.engine.assistant import LoopLimits

GOOD = {
    "title": "Docs",
    "identity": "You help.",
    "guidance": "Search first.",
    "tools": ["search_docs"],
    "corpora": ["handbook"],
    "limits": {"rounds": 3},
}


def test_a_profile_is_read_from_its_data() -> None:
    profile = read_profile("docs", GOOD)

    assert (profile.name, profile.tools, profile.corpora) == ("docs", ("search_docs",), ("handbook",))
    assert profile.limits == LoopLimits(rounds=3)


def test_every_corpus_is_said_with_a_star_or_by_saying_nothing() -> None:
    assert read_profile("docs", GOOD | {"corpora": ["*"]}).corpora is None
    assert read_profile("docs", {key: GOOD[key] for key in ("title", "identity", "guidance")}).corpora is None


def test_the_version_changes_with_any_edit_and_with_nothing_else() -> None:
    assert read_profile("docs", GOOD).version == read_profile("docs", dict(reversed(GOOD.items()))).version
    assert read_profile("docs", GOOD).version != read_profile("docs", GOOD | {"title": "Docs 2"}).version


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"identity": "  "}, "identity"),
        ({"title": 3}, "title"),
        ({"colour": "red"}, "colour"),
        ({"tools": "search_docs"}, "tools"),
        ({"tools": ["a", "a"]}, "tools"),
        ({"limits": {"rounds": PLATFORM_LIMITS.rounds + 1}}, "rounds"),
        ({"limits": {"rounds": 0}}, "rounds"),
        ({"limits": {"rounds": True}}, "rounds"),
        ({"limits": {"patience": 3}}, "patience"),
        ({"limits": 3}, "limits"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidProfile, match=named):
        read_profile("docs", GOOD | change)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InvalidProfile) as refused:
        read_profile("Bad Name", {"limits": {"rounds": 99}, "colour": "red"})

    for named in ("Bad Name", "title", "identity", "guidance", "colour", "rounds"):
        assert named in str(refused.value)

"""One validator for profiles, which lists every problem at once."""

import pytest
from equerry.domain.fast_path import FastPath
from equerry.domain.profiles import PLATFORM_LIMITS, InvalidProfile, read_profile
from equerry.engine.loop_limits import LoopLimits
from equerry.kernel.identifiers import CorpusId

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


def test_a_fast_path_is_what_a_profile_says_it_is_and_without_a_word_there_is_none() -> None:
    assert read_profile("docs", GOOD).fast_path is None
    said = read_profile("docs", GOOD | {"fast_path": {"catalogue": "pages", "help": ["help"]}}).fast_path

    assert said == FastPath(catalogue="pages", help=(CorpusId("help"),), navigate_at=0.8, how_to_at=0.6)
    stricter = read_profile("docs", GOOD | {"fast_path": {"help": ["help"], "how_to_at": 1}}).fast_path
    assert stricter == FastPath(help=(CorpusId("help"),), how_to_at=1.0)


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
        ({"fast_path": "yes"}, "fast_path"),
        ({"fast_path": {}}, "catalogue"),
        ({"fast_path": {"catalogue": "../pages"}}, "catalogue"),
        ({"fast_path": {"help": "help"}}, "help"),
        ({"fast_path": {"help": ["Help Centre"]}}, "corpusId"),
        ({"fast_path": {"help": ["help"], "how_to_at": 0}}, "how_to_at"),
        ({"fast_path": {"help": ["help"], "navigate_at": True}}, "navigate_at"),
        ({"fast_path": {"help": ["help"], "speed": 1}}, "speed"),
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

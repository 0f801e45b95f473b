"""What a person may type, and what they are told when it cannot be meant."""

import os

import pytest
from typer.testing import CliRunner

from local.cli.api import find_indexer, find_person, find_target
from local.cli.inputs import require_conversation, require_corpus
from local.cli.main import app
from local.errors import BadInput
from local.tokens import load_people

USAGE = 2


@pytest.mark.parametrize("name", ["a/../b", "..", "", "-a", "Docs", "a" * 64, "a\n", "ä"])
def test_a_corpus_is_named_as_the_server_takes_it(name: str) -> None:
    with pytest.raises(BadInput, match="--corpus"):
        require_corpus(name)


def test_a_corpus_that_the_server_takes_passes() -> None:
    assert require_corpus("a" * 63) == "a" * 63


@pytest.mark.parametrize("text", ["../x", "c-7", ""])
def test_a_conversation_is_named_by_its_id(text: str) -> None:
    with pytest.raises(BadInput, match="--conversation"):
        require_conversation(text)


@pytest.mark.parametrize("url", ["host", "http://", "ftp://host", "http://host:port", "http://[::1"])
def test_an_address_that_is_none_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(BadInput, match="EQUERRY_URL"):
        find_target(None, {"EQUERRY_URL": url, "EQUERRY_TOKEN": "t"})


@pytest.mark.parametrize("token", ["tök", "a b", "a\n"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(BadInput, match="EQUERRY_TOKEN") as caught:
        find_target(None, {"EQUERRY_URL": "https://host", "EQUERRY_TOKEN": token})

    assert token not in str(caught.value)


@pytest.mark.parametrize(("user", "indexer"), [("ada", None), ("ben", None), ("mira", "mira")])
def test_who_indexes_for_somebody_is_an_administrator_of_their_organisation(
    user: str, indexer: str | None
) -> None:
    people = load_people()

    assert find_indexer(find_person(user, people), people) == indexer


def test_a_demo_user_beside_a_token_is_refused_and_not_ignored() -> None:
    with pytest.raises(BadInput, match="--user mira") as caught:
        find_target("mira", {"EQUERRY_URL": "https://host", "EQUERRY_TOKEN": "t"})

    assert "unset EQUERRY_URL and EQUERRY_TOKEN" in caught.value.remedy


@pytest.mark.parametrize(
    "words",
    [
        ["ask", os.fsdecode(b"What \xff is it?")],
        ["ask", ""],
        ["ask", " \n"],
        ["ask", "What?", "--conversation", "../x"],
        ["index", ".", "--corpus", "a/../b"],
        ["index", ".", "--visible-to", os.fsdecode(b"user:\xff")],
    ],
)
def test_what_cannot_be_meant_is_one_line_and_exit_code_2(words: list[str]) -> None:
    done = CliRunner().invoke(app, words)

    assert done.exit_code == USAGE
    assert done.stderr.startswith("equerry: ")
    assert done.stderr.count("\n") == 2  # what it is, and what to do

"""Which sentences are chosen; pure and deterministic."""

import pytest
from equerry.adapters.embedded.extractive_question import interpret_question
from equerry.adapters.embedded.extractive_selection import (
    MOST_CHARACTERS,
    MOST_SENTENCES,
    select_sentences,
)
from equerry.adapters.embedded.extractive_sentences import split_sentences
from equerry.adapters.embedded.extractive_words import content_words, stem
from equerry.domain.passage_format import RenderedPassage


def passage(text: str, *headings: str, handle: str = "p000001") -> RenderedPassage:
    return RenderedPassage(handle, "Guide", headings, text)


def chosen(question: str, *passages: RenderedPassage) -> list[str]:
    return [each.text for each in select_sentences(interpret_question(question), passages)]


def sentences(text: str) -> list[str]:
    return [each.text for each in split_sentences(passage(text), index=0)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("configure", "configuration"),
        ("install", "installing"),
        ("directories", "folder"),
        ("running", "run"),
        ("deleted", "remove"),
        ("connection", "connects"),
        ("policy", "policies"),
    ],
)
def test_two_forms_of_a_word_are_compared_as_one(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_stop_words_carry_no_meaning() -> None:
    assert content_words("How do I do that with it?") == ()


def test_sentences_are_split_across_lines_but_not_at_abbreviations() -> None:
    text = "Use a worker, e.g. The default one,\nfor long tasks. It restarts by itself after a crash."

    assert sentences(text) == [
        "Use a worker, e.g. The default one, for long tasks.",
        "It restarts by itself after a crash.",
    ]


def test_list_items_are_sentences_of_their_own() -> None:
    text = (
        "- Restart the service after every change.\n- Keep the old log files\n  for at least seven full days"
    )

    assert sentences(text) == [
        "Restart the service after every change.",
        "Keep the old log files for at least seven full days",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Painting Widgets With The Renderer",
        "```python\nThis looks like a sentence but is inside code.\n```",
        "    This whole paragraph is indented, so it is code.",
        ">>> print('this is a session with the interpreter.')",
        "def paint(widget, colour): return widget.paint(colour).",
        "with open('file.txt') as handle: process the contents here.",
        "Consider the following configuration of the renderer:",
        "An array is written with brackets, as in [[1, 2], [3, 4]].",
        "run(args, *, stdin=None, input=None, stdout=None, shell=False)",
        "Too short.",
    ],
)
def test_what_is_not_prose_is_never_quoted(text: str) -> None:
    assert sentences(text) == []


def test_the_sentence_that_covers_the_question_wins() -> None:
    text = "The renderer is fast on most machines. Widgets are painted in the background."

    assert chosen("How are widgets painted?", passage(text))[0] == "Widgets are painted in the background."


def test_words_of_the_heading_count_for_the_sentences_under_it() -> None:
    about_linux = passage("Run the installer and then restart the machine.", "Installation", "Linux")
    about_other = passage("Run the demo and then look at the machine.", "Tour", handle="p000002")

    assert chosen("How is the installation on Linux done?", about_other, about_linux) == [
        "Run the installer and then restart the machine."
    ]


def test_near_repeats_are_said_once() -> None:
    one = passage("Widgets are painted by the background renderer.")
    two = passage("Widgets are painted by the background renderer thread.", handle="p000002")

    assert len(chosen("How are widgets painted?", one, two)) == 1


def test_sentences_come_in_reading_order_by_passage() -> None:
    one = passage(
        "Brushes paint small widgets with great care. Rollers paint the large widgets quickly instead."
    )
    two = passage("Sprayers paint widgets outdoors in dry weather.", handle="p000002")

    order = [
        (each.passage, each.position)
        for each in select_sentences(interpret_question("What paints widgets?"), (one, two))
    ]

    assert order == sorted(order)
    assert len(order) > 1


def test_an_answer_stays_short_however_much_was_found() -> None:
    many = [
        passage(f"Widget number {n} is painted with brush {n} and colour {n * 7} of the {n}th palette.")
        for n in range(40)
    ]

    answer = chosen("How are widgets painted?", *many)

    assert 1 <= len(answer) <= MOST_SENTENCES
    assert sum(map(len, answer)) <= MOST_CHARACTERS


@pytest.mark.parametrize(
    "question", ["What is the capital of France?", "How is a refund requested?", "why?", "", "???"]
)
def test_a_question_that_nothing_covers_gets_nothing(question: str) -> None:
    text = "Widgets are painted in the background. Each capital letter is drawn by the renderer with care."

    assert chosen(question, passage(text)) == []


def test_the_same_input_always_gives_the_same_answer() -> None:
    passages = [passage(f"The renderer paints widget {n} in the background.") for n in range(9)]

    assert len({tuple(chosen("What paints widgets?", *passages)) for _ in range(5)}) == 1


def test_words_scattered_over_passages_are_no_answer() -> None:
    one = passage("The limit of the queue can be configured by you.")
    two = passage("The speed of the renderer depends on the machine.", handle="p000002")

    assert chosen("What is the speed limit in Germany?", one, two) == []
    assert chosen("How is the limit of the queue configured?", one, two) == [one.text]


def test_a_word_that_no_passage_knows_weighs_most() -> None:
    about = passage("A password manager maps each account to its password and can reset it.")

    assert chosen("How do I reset my password?", about) == [about.text]
    assert chosen("How do I reset my password for the VPN?", about) == []

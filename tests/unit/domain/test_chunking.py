"""Chunking: nothing lost, order kept, limits held, the same input always cut the same way."""

import re

import pytest
from equerry.domain.chunking import (
    ENOUGH_WORDS,
    LONGEST_WORDS,
    SHORTEST_WORDS,
    chunk_sections,
    count_words,
    describe_chunk,
)
from equerry.domain.corpora import Section
from hypothesis import given, settings
from hypothesis import strategies as st

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=40)
sentences = st.lists(words, min_size=1, max_size=40).map(lambda found: " ".join(found) + ". ")
blocks = st.one_of(
    st.lists(sentences, min_size=1, max_size=8).map("".join),
    st.lists(sentences, min_size=1, max_size=8).map(lambda lines: "```\n" + "\n".join(lines) + "\n```"),
    st.lists(sentences, min_size=1, max_size=8).map(lambda rows: "\n".join(f"- {row}" for row in rows)),
)
sections = st.lists(
    st.builds(
        Section,
        heading_path=st.lists(words, max_size=3).map(tuple),
        text=st.lists(blocks, max_size=4).map("\n\n".join),
    ),
    max_size=3,
)


def squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.req("F-CHUNK-04")
@settings(max_examples=60, deadline=None)
@given(sections)
def test_chunks_hold_all_of_the_text_once_in_order_and_within_the_limit(found: list[Section]) -> None:
    chunks = chunk_sections("Title", found)

    assert squeeze("".join(chunk.text for chunk in chunks)) == squeeze("".join(one.text for one in found))
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert all(0 < count_words(chunk.text) <= LONGEST_WORDS + SHORTEST_WORDS for chunk in chunks)
    assert all(chunk.token_count >= count_words(chunk.text) for chunk in chunks)
    assert chunk_sections("Title", found) == chunks


@settings(max_examples=20, deadline=None)
@given(sections)
def test_a_chunk_belongs_to_one_section(found: list[Section]) -> None:
    chunks = chunk_sections("Title", found)
    by_section = [chunk_sections("Title", [section]) for section in found]

    assert [(chunk.heading_path, chunk.text) for chunk in chunks] == [
        (chunk.heading_path, chunk.text) for one in by_section for chunk in one
    ]


def build_section(*texts: str, heading: str = "Heading") -> Section:
    return Section(heading_path=(heading,), text="\n\n".join(texts))


def prose(count: int, name: str = "word") -> str:
    return " ".join(f"{name}{number}." if number % 10 == 9 else f"{name}{number}" for number in range(count))


def test_short_paragraphs_are_gathered_until_there_is_enough() -> None:
    chunks = chunk_sections("T", [build_section(*(prose(30, f"p{number}w") for number in range(8)))])

    assert [count_words(chunk.text) for chunk in chunks] == [120, 120]


def test_a_long_paragraph_is_cut_at_sentence_ends() -> None:
    chunks = chunk_sections("T", [build_section(prose(500))])

    assert len(chunks) == 3
    assert all(chunk.text.endswith(".") for chunk in chunks)
    assert all(count_words(chunk.text) >= ENOUGH_WORDS for chunk in chunks)


def test_code_and_tables_are_kept_together_where_they_fit() -> None:
    code = "```\n" + "\n".join(f"step {number}\n" for number in range(50)) + "\n```"
    table = "\n".join(f"name {number} | value {number}" for number in range(30))

    chunks = chunk_sections("T", [build_section(prose(100), code, table)])

    assert code in [chunk.text for chunk in chunks]
    assert any(table in chunk.text for chunk in chunks)


def test_a_table_that_is_too_long_is_cut_between_rows() -> None:
    rows = [f"name {number} | value {number}" for number in range(100)]

    chunks = chunk_sections("T", [build_section("\n".join(rows))])

    assert len(chunks) > 1
    assert [row for chunk in chunks for row in chunk.text.split("\n")] == rows


def test_text_without_blanks_is_cut_as_well() -> None:
    chunks = chunk_sections("T", [build_section("鍵を回転させる" * 100), build_section("x" * 20_000)])

    assert len(chunks) > 5
    assert all(count_words(chunk.text) <= LONGEST_WORDS + SHORTEST_WORDS for chunk in chunks)


def test_a_short_remnant_joins_what_came_before() -> None:
    chunks = chunk_sections("T", [build_section(prose(150), prose(20, "tail"))])

    assert len(chunks) == 1


@pytest.mark.req("F-CHUNK-04", "F-IDX-04")
def test_a_change_in_one_section_leaves_the_other_hashes_alone() -> None:
    before = chunk_sections(
        "T", [build_section(prose(50), heading="A"), build_section(prose(60), heading="B")]
    )
    after = chunk_sections(
        "T", [build_section(prose(51), heading="A"), build_section(prose(60), heading="B")]
    )

    assert before[0].hash != after[0].hash
    assert before[1].hash == after[1].hash


def test_title_heading_and_text_each_count_in_the_hash() -> None:
    section = build_section("text")
    variants = [
        chunk_sections("T", [section]),
        chunk_sections("U", [section]),
        chunk_sections("T", [build_section("text", heading="Other")]),
        chunk_sections("T", [build_section("texts")]),
    ]

    assert len({chunks[0].hash for chunks in variants}) == 4


def test_what_is_embedded_says_where_the_passage_stands() -> None:
    (chunk,) = chunk_sections("Guide", [Section(heading_path=("Keys", "Rotation"), text="Yearly.")])

    assert describe_chunk("Guide", chunk) == "Guide > Keys > Rotation\nYearly."


def test_sections_without_words_give_no_chunk() -> None:
    assert chunk_sections("T", [build_section(""), build_section(" \n\n \t")]) == ()

"""Text made fit for a line."""

from unicodedata import category

from equerry.kernel.text import shorten_text
from hypothesis import given
from hypothesis import strategies as st


@given(st.text(), st.integers(1, 60))
def test_a_shortened_text_is_one_line_without_control_characters(text: str, limit: int) -> None:
    short = shorten_text(text, limit=limit)

    assert len(short) <= limit
    assert not any(category(character) == "Cc" for character in short)
    assert len(short.splitlines()) <= 1


def test_a_nul_becomes_a_blank() -> None:
    assert shorten_text("\x00", limit=5) == ""
    assert shorten_text("a\x00b", limit=5) == "a b"


def test_joiners_stay() -> None:
    assert shorten_text("\U0001f469\u200d\U0001f680", limit=5) == "\U0001f469\u200d\U0001f680"

"""What is refused of a stranger's JSON, and how it is named."""

import json

import pytest
from equerry.kernel.errors import InvalidInput
from equerry.surfaces.json_input import read_json, read_text
from equerry.surfaces.websocket.frames import decode_frame
from hypothesis import given
from hypothesis import strategies as st

PLAIN = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
SOUND = st.recursive(
    st.none() | st.booleans() | NUMBERS | PLAIN,
    lambda inner: st.lists(inner) | st.dictionaries(PLAIN, inner),
    max_leaves=20,
)


def read(text: str) -> object:
    return read_json(text, lambda parsed: parsed, whole="body")


@given(SOUND)
def test_sound_json_is_read_as_it_was_written(entry: object) -> None:
    assert read(json.dumps(entry)) == entry
    assert read(json.dumps(entry, ensure_ascii=False)) == entry


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (r'{"text":"a\u0000b"}', "text"),
        (r'{"data":{"note":"\ud800"}}', "data.note"),
        (r'{"data":{"note":"\udc00\ud800"}}', "data.note"),
        ('{"text":"\ud800"}', "text"),
        (r'{"data":{"a\u0000":1}}', r"data.a\x00"),
        (r'{"\ud800":1}', r"\ud800"),
        (r'{"list":[1,"\u0000"]}', "list.1"),
        ('{"data":{"n":NaN}}', "data.n"),
        ('{"data":{"n":-Infinity}}', "data.n"),
        ('{"data":{"n":1e999}}', "data.n"),
        ('{"data":{"n":' + "9" * 5_000 + "}}", "data.n"),
        ('{"data":{"n":9223372036854775808}}', "data.n"),
        ('{"n":1,"n":2}', "n"),
        ('{"a":{"n":1,"n":2}}', "n"),
        ("[" * 33 + "]" * 33, "body"),
        ("[" * 100_000, "body"),
        ("9" * 5_000, "body"),
        (r'"\u0000"', "body"),
        ('{"text":"a\x00b"}', "body"),
        ("\ufeff{}", "body"),
        ("", "body"),
    ],
)
def test_what_is_not_strict_is_refused_and_the_field_named(text: str, field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(text)

    assert refusal.value.field == field
    assert field in str(refusal.value)
    assert str(refusal.value).isprintable()


def test_a_long_name_is_shortened_in_its_refusal() -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(json.dumps({"n" * 100_000: "\x00"}))

    assert len(str(refusal.value)) < 200


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert read(r'"\ud83d\ude00"') == "\U0001f600"
    assert read_text("\U0001f600", name="cursor") == "\U0001f600"


@pytest.mark.parametrize(
    ("frame", "field"),
    [
        (r'{"action":"unsubscribe","conversationId":"\u0000"}', "conversationId"),
        (r'{"action":"\ud800"}', "action"),
        ('{"action":"subscribe","conversationId":"c","after":' + "9" * 4_000 + "}", "after"),
        ('{"action":"ping","action":"ping"}', "action"),
        ('{"action":"ping"', "frame"),
    ],
)
def test_frames_are_read_as_strictly(frame: str, field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        decode_frame(frame)

    assert refusal.value.field == field

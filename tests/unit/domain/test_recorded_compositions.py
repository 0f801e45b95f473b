"""Composition, against what was recorded of it before."""

import json
from hashlib import sha256

import pytest

from tests.unit.domain.composing import RECORDINGS, TURNS, compose, list_recordings


@pytest.mark.req("P-TRACE-06")
@pytest.mark.parametrize("name", TURNS)
def test_a_turn_is_composed_as_it_was_recorded(name: str) -> None:
    recorded = json.loads(RECORDINGS.read_text())

    assert list_recordings()[name] == recorded[name]
    assert recorded.keys() == TURNS.keys()


@pytest.mark.req("P-TRACE-03", "P-TRACE-06")
@pytest.mark.parametrize("name", TURNS)
def test_the_recorded_blocks_are_what_the_model_read_in_that_order(name: str) -> None:
    composed = compose(TURNS[name])
    texts = composed["stable"] + "\n\n" + composed["dynamic"]

    start = 0
    for block in composed["manifest"]["blocks"]:
        text = texts[start : start + block["characters"]]
        assert sha256(text.encode()).hexdigest() == block["sha256"], block["name"]
        start += block["characters"] + len("\n\n")
    assert start == len(texts) + len("\n\n")

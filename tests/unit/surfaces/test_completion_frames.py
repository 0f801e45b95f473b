"""How often a streamed completion says what."""

import json
from collections.abc import Callable

import pytest
from equerry.engine.model import ArgumentsDelta, StillWorking, ThinkingDelta
from equerry.surfaces.completion_frames import FramePacer, encode_frame


def frames(*events: tuple[float, object]) -> list[tuple[float, str, str | None]]:
    """Return when which frame left, with its text."""
    pacer = FramePacer(0.0)
    return [
        (at_s, frame["type"], frame.get("text"))
        for at_s, event in events
        for frame in pacer.take(event, at_s)  # type: ignore[arg-type]  # a test's brevity
    ]


@pytest.mark.req("A-SCST-07")
def test_thinking_comes_once_in_half_a_second_and_nothing_is_lost_between() -> None:
    said = [(at / 100, ThinkingDelta(f"{at} ")) for at in range(0, 120, 10)]

    assert frames(*said) == [
        (0.0, "thinking", "0 "),
        (0.5, "thinking", "10 20 30 40 50 "),
        (1.0, "thinking", "60 70 80 90 100 "),
    ]


@pytest.mark.req("A-SCST-08")
def test_output_comes_once_in_a_quarter_of_a_second_whatever_else_does() -> None:
    assert frames(
        (0.0, ArgumentsDelta('{"a')),
        (0.1, ArgumentsDelta('":')),
        (0.2, ThinkingDelta("Hm.")),
        (0.3, None),
        (0.4, ArgumentsDelta("1}")),
        (0.56, StillWorking()),
    ) == [
        (0.0, "output", '{"a'),
        (0.2, "thinking", "Hm."),
        (0.3, "output", '":'),
        (0.56, "output", "1}"),
    ]


@pytest.mark.req("A-SCST-09")
def test_a_ping_comes_after_fifteen_seconds_without_a_frame() -> None:
    assert frames(
        (14.9, None),
        (15.0, StillWorking()),
        (29.9, None),
        (30.0, None),
        (31.0, ThinkingDelta("x")),
        (45.9, None),
        (46.0, None),
    ) == [(15.0, "ping", None), (30.0, "ping", None), (31.0, "thinking", "x"), (46.0, "ping", None)]


@pytest.mark.parametrize("delta", [ThinkingDelta, ArgumentsDelta])
def test_a_character_that_was_cut_in_two_is_sent_whole(delta: Callable[[str], object]) -> None:
    said = frames(
        (0.0, delta("a\ud83d")), (1.0, None), (2.0, delta("\ude42b\ud83d")), (3.0, delta("c\ude42"))
    )

    assert [text for _, _, text in said] == ["a", "\U0001f642b", "\ufffdc\ufffd"]
    for _, kind, text in said:
        assert json.loads(encode_frame({"type": kind, "text": text}))["text"] == text


def test_a_frame_is_one_line() -> None:
    line = encode_frame({"type": "output", "text": "a\nb\u2028ü"})

    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line)["text"] == "a\nb\u2028ü"

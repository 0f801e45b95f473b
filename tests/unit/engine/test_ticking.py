"""Whoever reads something slow is woken while it says nothing."""

import threading
from collections.abc import Generator

import pytest
from equerry.engine.ticking import tick


def test_events_come_in_order_and_silence_is_told() -> None:
    go = threading.Event()

    def slow() -> Generator[int, None, None]:
        yield 1
        go.wait(10)
        yield 2

    seen = []
    for event in tick(slow(), every_s=0.01):
        seen.append(event)
        if event is None:
            go.set()

    assert [event for event in seen if event is not None] == [1, 2]
    assert None in seen


def test_what_it_fails_with_is_raised_after_what_came_before() -> None:
    def failing() -> Generator[int, None, None]:
        yield 1
        raise ZeroDivisionError

    events = tick(failing(), every_s=30.0)

    assert next(events) == 1
    with pytest.raises(ZeroDivisionError):
        next(events)


def test_whoever_leaves_does_not_stop_what_is_read() -> None:
    read = threading.Event()

    def whole() -> Generator[int, None, None]:
        yield 1
        yield 2
        read.set()

    next(iter(tick(whole(), every_s=30.0)))

    assert read.wait(10)

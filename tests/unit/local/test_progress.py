"""Steps as they are shown where nobody watches a terminal."""

from io import StringIO

from rich.console import Console

from local.progress import Progress
from local.telling import EVERY_S
from tests.fakes.clock import FixedClock


def test_a_long_step_tells_now_and_then_what_it_is_at() -> None:
    shown, clock = StringIO(), FixedClock()
    progress = Progress(console=Console(file=shown), clock=clock.monotonic_s)

    with progress.step("deploying") as tell:
        tell("too early to be worth a line")
        clock.advance(EVERY_S)
        tell("12 of 75")
        tell("13 of 75")
        clock.advance(EVERY_S)
        tell("[40] of 75")

    assert shown.getvalue().splitlines() == [
        "… deploying",
        "  deploying: 12 of 75",
        "  deploying: [40] of 75",
        "✓ deploying (10.0 s)",
    ]


def test_a_short_step_is_two_lines() -> None:
    shown = StringIO()

    with Progress(console=Console(file=shown)).step("restoring") as tell:
        tell("at once")

    assert [line.partition(" (")[0] for line in shown.getvalue().splitlines()] == [
        "… restoring",
        "✓ restoring",
    ]

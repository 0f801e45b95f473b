"""A release is proved at the edge, and not before it is there."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from local.cli.releasing import NotReleased, Release, await_release
from local.telling import Teller
from tests.fakes.clock import FixedClock

OLD = {"version": "1.2.3", "commit": "aaaaaaaaaaaa", "lambdaVersion": "7"}
NEW = {"version": "1.2.4", "commit": "bbbbbbbbbbbb", "lambdaVersion": "8"}
RELEASE = Release(commit="bbbbbbbbbbbb", version="1.2.4", lambda_version="8")


def play(*answers: object) -> Callable[[], httpx.Response]:
    """Return an edge that answers these in turn, the last for ever."""

    def answer() -> Iterator[object]:
        yield from answers
        while True:
            yield answers[-1]

    script = answer()

    def ask() -> httpx.Response:
        said = next(script)
        if isinstance(said, Exception):
            raise said
        return httpx.Response(502) if said is None else httpx.Response(200, json=said)

    return ask


@pytest.mark.req("A-SPEC-13", "A-SPEC-12")
def test_a_release_is_there_once_three_answers_in_a_row_are_its(  # one may come from a container of the old
) -> None:
    clock = FixedClock()
    edge = play(OLD, None, httpx.ConnectError("away"), NEW, OLD, NEW, NEW, NEW)

    said = await_release(edge, RELEASE, timeout_s=60, clock=clock.monotonic_s, sleep=clock.sleep)

    assert said == NEW
    assert clock.monotonic_s() == 14


@pytest.mark.req("A-SPEC-13")
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (OLD, "commit is 'aaaaaaaaaaaa', not 'bbbbbbbbbbbb'"),
        ({**NEW, "lambdaVersion": "7"}, "lambdaVersion is '7', not '8'"),
        ({**NEW, "version": "1.2.3"}, "version is '1.2.3', not '1.2.4'"),
        (None, "it answers 502"),
        (httpx.ConnectError("away"), "no answer"),
        (["odd"], "it answers 200"),
    ],
)
def test_a_release_that_never_comes_is_told_with_what_came(answer: object, says: str) -> None:
    clock = FixedClock()

    with pytest.raises(NotReleased, match=says):
        await_release(play(answer), RELEASE, timeout_s=20, clock=clock.monotonic_s, sleep=clock.sleep)


def test_what_is_not_asked_for_is_not_looked_at() -> None:
    clock = FixedClock()

    said = await_release(
        play(NEW), Release(version="1.2.4"), timeout_s=20, clock=clock.monotonic_s, sleep=clock.sleep
    )

    assert said == NEW


def test_whoever_waits_for_a_release_hears_what_it_answers_but_not_every_time() -> None:
    clock = FixedClock()
    heard: list[str] = []

    await_release(
        play(*[OLD] * 4, NEW),
        RELEASE,
        timeout_s=60,
        tell=Teller(write=heard.append, clock=clock.monotonic_s),
        clock=clock.monotonic_s,
        sleep=clock.sleep,
    )

    assert len(heard) == 1
    assert "commit is 'aaaaaaaaaaaa'" in heard[0]

"""Whether a release has reached the edge: what `/version` answers, again and again."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx

from local.errors import LocalError

PAUSE_S = 2.0
IN_A_ROW = 3
"""One answer may come from a container of the old version that is still busy."""


class NotReleased(LocalError):
    """The edge still answers as something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What `/version` must say; None is not looked at."""

    commit: str | None = None
    version: str | None = None
    lambda_version: str | None = None

    def list_differences(self, said: Mapping[str, object]) -> list[str]:
        """Return what an answer says otherwise."""
        wanted = {"commit": self.commit, "version": self.version, "lambdaVersion": self.lambda_version}
        return [
            f"{name} is {said.get(name)!r}, not {text!r}"
            for name, text in wanted.items()
            if text is not None and said.get(name) != text
        ]


def await_release(
    ask: Callable[[], httpx.Response],
    release: Release,
    *,
    timeout_s: float,
    tell: Callable[[str], object] = lambda _line: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Mapping[str, object]:
    """Ask until three answers in a row are the release's, and return the last.

    Args:
        tell: hears what each answer was.

    Raises:
        NotReleased: they were not within `timeout_s`; says what came last.
    """
    until, row, last = clock() + timeout_s, 0, "nothing answered"
    while True:
        said, last = _read(ask, release)
        row = row + 1 if not last else 0
        if row == IN_A_ROW:
            return said
        if clock() >= until:
            raise NotReleased(f"after {timeout_s:g} s: {last or 'not three answers in a row'}", _REMEDY)
        tell(last or f"this release, {row} of {IN_A_ROW} times in a row")
        sleep(PAUSE_S)


def _read(ask: Callable[[], httpx.Response], release: Release) -> tuple[Mapping[str, object], str]:
    """Return what the edge says, and in words what is wrong with it."""
    try:
        answer = ask()
        said = answer.json() if answer.status_code == httpx.codes.OK else None
    except (httpx.HTTPError, ValueError) as failure:
        return {}, f"no answer ({type(failure).__name__})"
    if not isinstance(said, dict):
        return {}, f"it answers {answer.status_code}"
    return said, "; ".join(release.list_differences(said))


_REMEDY = "the alias did not move, or another release did; see docs/upgrade.md"

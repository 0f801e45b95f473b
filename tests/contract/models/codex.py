"""A strict `codex` on this machine, as a subject of the common suite and of its own."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from equerry.adapters.codex.model import CodexWire
from equerry.adapters.rounds.driver import DrivenModelAdapter

from tests.contract.models.subjects import BRISK, PATIENT, Act, RealClock, Subject

EXECUTABLE = str(Path(__file__).parents[2] / "strict" / "codex")
USAGE = {"input_tokens": 331, "cached_input_tokens": 300, "output_tokens": 42, "reasoning_output_tokens": 7}
Json = dict[str, Any]


def message(text: str) -> Json:
    """One message of the assistant's; the last of a turn is the answer."""
    return {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": text}}


def reasoning(text: str) -> Json:
    return {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": text}}


def turn(*items: Json, end: Json | None = None) -> list[Json]:
    """A whole run; `end` in place of the turn's completion."""
    return [
        {"type": "thread.started", "thread_id": "t-1"},
        {"type": "turn.started"},
        *items,
        end or {"type": "turn.completed", "usage": USAGE},
    ]


def told(text: str = "", *calls: tuple[str, str]) -> Json:
    """A message in the JSON that is asked for where tools are offered."""
    named = [{"tool": tool, "arguments": arguments} for tool, arguments in calls]
    return message(json.dumps({"text": text, "calls": named}))


@dataclass(frozen=True, slots=True)
class Desk:
    """A home folder with a command in it; `play` says what its next runs print."""

    home: Path

    def play(self, *runs: list[Json]) -> None:
        replies = self.home / "replies"
        for run in runs:
            number = len(list(replies.iterdir())) + len(self.runs)
            (replies / f"{number:03}.json").write_text(json.dumps(run))

    @property
    def runs(self) -> list[Json]:
        """What each run was asked, in order."""
        return [json.loads(path.read_text()) for path in sorted((self.home / "runs").iterdir())]

    def is_running(self) -> bool:
        """Whether the command runs, also one that has not come to say what it was asked."""
        home = f"HOME={self.home}".encode()
        return any(_is_at(process, home) for process in Path("/proc").glob("[0-9]*"))

    def connect(self, executable: str = EXECUTABLE) -> DrivenModelAdapter:
        environment = {
            **os.environ,
            "HOME": str(self.home),
            "AWS_SECRET_ACCESS_KEY": "a-secret",
            "OTHER": "x",
        }
        wire = CodexWire(executable, model="codex-test-1", environment=environment)
        return DrivenModelAdapter(
            wire, clock=RealClock(), jitter=lambda: 0.0, timeouts=PATIENT, retries=BRISK
        )


@contextmanager
def open_desk() -> Iterator[Desk]:
    with TemporaryDirectory(prefix="desk-") as home:
        for name in ("replies", "runs"):
            (Path(home) / name).mkdir()
        yield Desk(Path(home))


RUNS: dict[Act, tuple[list[Json], ...]] = {
    "search": (turn(told("", ("search_docs", '{"query": "widgets"}'))),),
    "answer": (turn(reasoning("So."), told("Widgets are painted.")),),
    "unavailable": (turn(end={"type": "turn.failed", "error": {"message": "busy"}}),) * 2,
}


def _is_at(process: Path, home: bytes) -> bool:
    """Whether a live process has this home; one that has ended, waited for or not, has no environment."""
    try:
        return home in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


@contextmanager
def codex_subject() -> Iterator[Subject]:
    with open_desk() as desk:

        def play(*acts: Act) -> None:
            for act in acts:
                desk.play(*RUNS[act])

        yield Subject(
            desk.connect(),
            play,
            lambda: not desk.is_running(),
            in_pieces=False,
        )

"""Runs turns when told to and says what they took; imports no framework, and any can import it."""

import gc
import json
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

DELTAS = 20
"""Pieces of the answer's text."""
WORD = "word "
QUESTION = "Well?"
ARGUMENTS = {"query": "exports"}
FOUND = "Exports run nightly at two."


class Shape(NamedTuple):
    """A turn: `rounds` with the model, of which all but the last ask for `calls` tool calls."""

    rounds: int
    calls: int


Turn = Callable[[Shape], str]
"""Plays one turn and returns the answer it streamed."""


class ToolCount:
    """Counts what the tool was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def look(self, query: str) -> str:
        """Answer at once."""
        assert query == ARGUMENTS["query"]
        self.calls += 1
        return FOUND


def serve(turn: Turn, count: ToolCount) -> None:
    """Read a shape and a number of turns from each line of input; answer with seconds a turn."""
    for line in sys.stdin:
        rounds, calls, turns = json.loads(line)
        shape = Shape(rounds, calls)
        count.calls = 0
        gc.collect()
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        answers = {turn(shape) for _ in range(turns)}
        took = {
            "wall_s": (time.perf_counter() - wall_s) / turns,
            "cpu_s": (time.process_time() - cpu_s) / turns,
        }
        assert answers == {WORD * DELTAS}, answers
        assert count.calls == (rounds - 1) * calls * turns, count.calls
        print(json.dumps(took), flush=True)

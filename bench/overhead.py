"""What a loop between model and tools costs by itself: ours beside four others, in one run.

    python -m bench.overhead [REPEATS]

Each framework lives in an environment of its own below .local/bench, made here from requirements/bench-*.txt,
and plays the same turns over a model that answers at once. Every repeat asks each of them in turn, so that
what else the machine does meets all alike.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import median

from local.places import ROOT

RUNNERS = Path(__file__).parent / "frameworks"
PLACE = ROOT / ".local" / "bench"
UV = ROOT / ".venv" / "bin" / "uv"
OURS = "equerry"
SHAPES = ((1, 1), (5, 1), (5, 4))
"""Rounds with the model, and tool calls in each but the last."""
TURNS = 25
REPEATS = 15
AT_MOST = 0.5
"""Of the fastest of the others."""

Reading = Mapping[str, float]
Readings = dict[tuple[int, int], list[Reading]]


@dataclass(frozen=True)
class Framework:
    """One of those compared; `package` is None for ours, which runs in the application's environment."""

    name: str
    runner: str
    package: str | None = None


FRAMEWORKS = (
    Framework(OURS, "run_equerry.py"),
    Framework("strands-agents", "run_strands.py", "strands"),
    Framework("langgraph", "run_langgraph.py", "langgraph"),
    Framework("pydantic-ai", "run_pydantic_ai.py", "pydantic-ai"),
    Framework("openai-agents", "run_openai_agents.py", "openai-agents"),
)


@dataclass(frozen=True)
class Cost:
    """Milliseconds: a turn of one round, each further round with one call, each further call in a round."""

    first: float
    round: float
    call: float


class Runner:
    """One framework's process, which plays turns when it is asked to."""

    def __init__(self, framework: Framework) -> None:
        command = [str(_prepare(framework)), str(RUNNERS / framework.runner)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def play(self, shape: tuple[int, int]) -> Reading:
        """Return the seconds a turn took, by the wall and by the processor."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([*shape, TURNS]) + "\n")
        self._process.stdin.flush()
        reading: Reading = json.loads(self._process.stdout.readline())
        return reading

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def main(repeats: int) -> int:
    """Measure, print the table and return 1 where ours costs too much."""
    runners = {framework.name: Runner(framework) for framework in FRAMEWORKS}
    readings: dict[str, Readings] = {name: {shape: [] for shape in SHAPES} for name in runners}
    try:
        for repeat in range(-1, repeats):  # the first warms up
            for shape in SHAPES:
                for name, runner in runners.items():
                    reading = runner.play(shape)
                    if repeat >= 0:
                        readings[name][shape].append(reading)
    finally:
        for runner in runners.values():
            runner.close()
    return _report(readings)


def _prepare(framework: Framework) -> Path:
    if framework.package is None:
        return Path(sys.executable)
    requirements = ROOT / "requirements" / f"bench-{framework.package}.txt"
    digest = sha256(requirements.read_bytes()).hexdigest()[:12]
    python = PLACE / f"{framework.package}-{digest}" / "bin" / "python"
    if not python.exists():
        print(f"installing {framework.name}", file=sys.stderr)
        new = [str(UV), "venv", "--quiet", "--python", sys.executable, str(python.parents[1])]
        subprocess.run(new, check=True)
        sync = [str(UV), "pip", "sync", "--quiet", "--python", str(python), "--require-hashes"]
        subprocess.run([*sync, str(requirements)], check=True)
    return python


def _report(readings: Mapping[str, Readings]) -> int:
    worst = 0.0
    for clock, said in (("cpu_s", "processor"), ("wall_s", "wall")):
        for how in (min, median):
            costs = {name: _derive(found, clock, how) for name, found in readings.items()}
            shares = _print(f"{said}, {how.__name__} of {len(readings[OURS][SHAPES[0]])}", costs)
            if clock == "cpu_s":
                worst = max(worst, *shares)
    print(f"ours is at most {worst:.2f} of the fastest of the others, by processor time")
    return int(worst > AT_MOST)


def _derive(found: Readings, clock: str, how: Callable[[list[float]], float]) -> Cost:
    one, five, wide = (1000 * how([reading[clock] for reading in found[shape]]) for shape in SHAPES)
    return Cost(first=one, round=(five - one) / 4, call=(wide - five) / 12)


def _print(title: str, costs: Mapping[str, Cost]) -> tuple[float, float, float]:
    print(f"{title}, in ms")
    print(f"  {'':16}{'one round':>12}{'round, call':>13}{'one more call':>15}")
    for name, cost in costs.items():
        print(f"  {name:16}{cost.first:12.3f}{cost.round:13.3f}{cost.call:15.3f}")
    others = [cost for name, cost in costs.items() if name != OURS]
    fastest = Cost(*(min(getattr(c, part) for c in others) for part in ("first", "round", "call")))
    ours = costs[OURS]
    shares = (ours.first / fastest.first, ours.round / fastest.round, ours.call / fastest.call)
    print(f"  {'ours : fastest':16}{shares[0]:12.2f}{shares[1]:13.2f}{shares[2]:15.2f}\n")
    return shares


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS))

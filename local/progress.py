"""Long steps, shown while they run and timed: a spinner on a terminal, plain lines anywhere else."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from local.files import read_json, write_json
from local.telling import Teller

Tell = Callable[[str], None]
"""Says what a running step is at; at once on a terminal, now and then anywhere else."""


class Progress:
    """Shows steps on stderr and keeps the seconds each took."""

    def __init__(
        self,
        timings: Path | None = None,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._timings = timings
        self._clock = clock

    @contextmanager
    def step(self, name: str) -> Iterator[Tell]:
        """Show `name` until the block ends, then how long it took."""
        began = self._clock()
        if self._console.is_terminal:
            with self._console.status(name) as status:
                yield lambda detail: status.update(f"{name} [dim]{escape(detail[:80])}[/dim]")
        else:
            self.say(f"… {name}")
            teller = Teller(write=self.say, clock=self._clock)
            yield lambda detail: teller(f"  {name}: {detail}")
        seconds = self._clock() - began
        self._console.print(f"[green]✓[/green] {name} [dim]({seconds:.1f} s)[/dim]", soft_wrap=True)
        self._keep(name, seconds)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Keep the seconds of a step that shows itself."""
        began = self._clock()
        yield
        self._keep(name, self._clock() - began)

    def say(self, line: str) -> None:
        """Print one line."""
        self._console.print(line, soft_wrap=True, markup=False)

    def _keep(self, name: str, seconds: float) -> None:
        if self._timings:
            known = read_json(self._timings) or {}
            write_json(self._timings, known | {name: round(seconds, 1)})

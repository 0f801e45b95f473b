"""Real threads that start at one moment."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from equerry.kernel.errors import EquerryError

T = TypeVar("T")


def race(*contenders: Callable[[], T]) -> tuple[list[T], list[EquerryError]]:
    """Run all at once; return what the winners got and how the losers were refused."""
    start = threading.Barrier(len(contenders))

    def run(contender: Callable[[], T]) -> T | EquerryError:
        start.wait()
        try:
            return contender()
        except EquerryError as refused:
            return refused

    with ThreadPoolExecutor(len(contenders)) as pool:
        outcomes: Sequence[T | EquerryError] = list(pool.map(run, contenders))
    won = [outcome for outcome in outcomes if not isinstance(outcome, EquerryError)]
    return won, [outcome for outcome in outcomes if isinstance(outcome, EquerryError)]

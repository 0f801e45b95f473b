"""Real threads that start at one moment, and sessions that wait for each other."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psycopg
from equerry.kernel.errors import EquerryError

from tests.contract.databases import Database

PATIENCE_S = 30.0
WAITING = (
    "FROM pg_stat_activity WHERE usename IN ('equerry_runtime', 'equerry_platform')"
    " AND wait_event_type = 'Lock' AND datname = current_database()"
)
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


def wait_for_waiting(database: Database, sessions: int) -> None:
    """Wait until so many of the product's sessions wait for a lock."""
    deadline_s, waiting = time.monotonic() + PATIENCE_S, 0
    # Each look in a transaction of its own: within one, who is connected stays what it was.
    with psycopg.connect(database.superuser_url, autocommit=True) as session:
        while waiting != sessions and time.monotonic() < deadline_s:
            ((waiting,),) = session.execute(f"SELECT count(*) {WAITING}").fetchall()
            time.sleep(0.01)
    assert waiting == sessions

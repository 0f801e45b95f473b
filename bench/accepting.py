"""What accepting a turn costs its entry point in processor time: event in, answer out, stores in memory.

`.venv/bin/python -m bench.accepting`. Serialising for AWS and PostgreSQL, and TLS, are not in it.
"""

import gc
import logging
import statistics
import time

import typer
from equerry.domain.limits import TurnLimits
from equerry.runtime.observability import logger

from tests.unit.runtime.test_http_app import Api, opened
from tests.unit.services.world import World

MUCH = 10**9


def main(turns: int = 400) -> None:
    """Accept turns one after another, each in a conversation of its own, and refuse as many."""
    logger.setLevel(logging.CRITICAL)
    logging.disable(logging.CRITICAL)
    limits = TurnLimits(user_turns_per_minute=MUCH, organisation_turns_per_minute=MUCH, daily_tokens=MUCH**2)
    api = Api(World(limits=limits))
    conversations = [opened(api) for _ in range(turns)]
    for expected in (202, 409):
        spent_ms = [_time_one(api, conversation, expected) for conversation in conversations]
        middle, most = statistics.median(spent_ms), sorted(spent_ms)[int(len(spent_ms) * 0.95)]
        typer.echo(f"{expected}: median {middle:.2f} ms, 95th percentile {most:.2f} ms of processor time")


def _time_one(api: Api, conversation: str, expected: int) -> float:
    api.world.clock.advance(0.5)  # 120 turns a minute, as many as an organisation may by default
    gc.collect(0)
    began = time.process_time()
    status, _, _ = api("POST", f"/conversations/{conversation}/messages", {"text": "What is a hook?"})
    spent_ms = (time.process_time() - began) * 1000
    if status != expected:
        raise SystemExit(f"expected {expected}, got {status}")
    return spent_ms


if __name__ == "__main__":
    typer.run(main)

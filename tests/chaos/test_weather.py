"""Whatever fails around the turn service, nothing is lost, nothing runs twice, and every run ends visibly."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from tests.chaos.cell import App, Cell
from tests.chaos.promises import Asked, check, check_accepted, check_frames
from tests.chaos.provider import mark_question
from tests.contract.databases import new_organisation
from tests.faults.plans import FAULTS, Storm

pytestmark = [pytest.mark.postgres, pytest.mark.chaos]

SEEDS = range(6)
TURNS = ("say", "search", "say", "cancel", "search", "say")
ATTEMPTS = 3
PATIENCE_S = 20.0
LEASE_S = 2.0


@pytest.fixture(scope="module")
def workers(cell: Cell, worker: App) -> list[App]:
    """Two containers of the worker function."""
    return [worker, cell.build_worker()]


@contextmanager
def working(cell: Cell, workers: list[App]) -> Iterator[None]:
    """Let workers take messages beside the block; what they have begun is finished."""
    over = threading.Event()

    def work(worker: App) -> None:
        while not over.is_set():
            if message := cell.receive():
                cell.hand_over(worker, message)
            else:
                over.wait(0.05)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def submit(cell: Cell, conversation: str, kind: str, organisation: str) -> Asked:
    """Put a question as a patient client would: again, under the same key, while the service is out."""
    question, key = mark_question("search" if kind == "search" else "say"), uuid4().hex
    path = f"/conversations/{conversation}/messages"
    asked_s, attempts = time.monotonic(), 0
    while attempts < ATTEMPTS and time.monotonic() < asked_s + PATIENCE_S:
        reply = cell.request("POST", path, {"text": question}, organisation=organisation, key=key)
        if reply.status == 202:
            run_id = reply.content["runId"]
            if kind == "cancel":
                cell.request("POST", f"/runs/{run_id}/cancel", organisation=organisation)
            return Asked(conversation, question, run_id)
        assert reply.status in (409, 503), reply
        attempts += reply.status == 503
        time.sleep(0.1)
        if time.monotonic() > asked_s + LEASE_S:
            # As if half a minute had passed, which a live worker survives no better than a dead one.
            cell.lapse_leases()
    return Asked(conversation, question, None)


def open_conversation(cell: Cell, organisation: str) -> str:
    reply = cell.request("POST", "/conversations", {"title": "weather"}, organisation=organisation)
    assert reply.status == 201, reply
    return str(reply.content["conversationId"])


def settle(cell: Cell, worker: App) -> None:
    """Let the weather pass, and time with it."""
    cell.drain(worker)
    cell.reap()
    cell.drain(worker)


def weather(cell: Cell, workers: list[App], storm: Storm) -> None:
    organisation = new_organisation()
    conversations = [open_conversation(cell, organisation) for _ in range(2)]
    frames = [cell.listen(conversation, organisation=organisation) for conversation in conversations]
    if "secretsmanager" not in storm.faults:  # without its secret a function does not start
        cell.restart_http()
    with working(cell, workers), cell.weather(storm):
        asked = [submit(cell, conversations[n % 2], kind, organisation) for n, kind in enumerate(TURNS)]
    settle(cell, workers[0])
    logging.getLogger(__name__).info("met %s; asked %s", storm.met, asked)
    assert storm.met, "nothing went wrong, and so nothing was shown"
    check(cell, organisation, asked)
    for seen in frames:
        check_frames(cell, seen)
    for conversation in conversations:
        following = submit(cell, conversation, "say", organisation)
        settle(cell, workers[0])
        assert following.run_id is not None
        check_accepted(cell, following.run_id)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_part_may_fail_at_any_call(cell: Cell, workers: list[App], seed: int) -> None:
    weather(cell, workers, Storm(seed, rate=0.08))


@pytest.mark.parametrize("service", ["dynamodb", "execute-api", "postgres", "sqs", "ssm"])
def test_one_part_may_fail_often(cell: Cell, workers: list[App], service: str) -> None:
    weather(cell, workers, Storm(7, rate=0.3, faults={service: FAULTS[service]}))

"""A worker's process is killed at each stage of a run; whoever comes next ends the run, once."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from local.places import ROOT
from tests.chaos.cell import App, Cell, Message, describe_event
from tests.chaos.promises import check, check_frames, list_runs, read_log
from tests.chaos.test_weather import open_conversation, settle, submit
from tests.contract.databases import new_organisation
from tests.faults.plans import Call, Fault, LoseAnswer, Once, Reset

pytestmark = [pytest.mark.postgres, pytest.mark.chaos]

END_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A moment of a run, told by the call that marks it, and how the run must end once its worker died there.

    `carried_out` lets the call through before the worker dies.
    """

    name: str
    call: Callable[[Call], bool]
    stop: str
    carried_out: bool = False
    question: str = "say"


def logs(event_type: str) -> Callable[[Call], bool]:
    """Pick the write of an envelope to the log."""
    wanted = f'"event_type": {{"S": "{event_type}"}}'.encode()
    return lambda call: call.operation == "PutItem" and wanted in call.body


def sends(event_type: str) -> Callable[[Call], bool]:
    """Pick the delivery of an envelope to a socket."""
    return lambda call: call.service == "execute-api" and f'"type":"{event_type}"'.encode() in call.body


def settles(call: Call) -> bool:
    """Pick the release of the lease with what it had reserved."""
    return call.operation == "TransactWriteItems" and b'"Delete"' in call.body


STAGES = (
    Stage("before the run is claimed", lambda call: call.operation == "UpdateItem", "end_turn"),
    Stage(
        "after the run was claimed", lambda call: call.operation == "UpdateItem", "end_turn", carried_out=True
    ),
    Stage("before the provider is asked", logs("step"), "end_turn", carried_out=True),
    Stage("in mid-stream", logs("token"), "interrupted", carried_out=True),
    Stage("before a tool", logs("tool_start"), "interrupted", question="search"),
    Stage("after a tool", logs("tool_end"), "interrupted", carried_out=True, question="search"),
    Stage("between the end and its log", logs("message"), "end_turn"),
    Stage("between persist and deliver", sends("message"), "end_turn"),
    Stage("between deliver and the last word", sends("message"), "end_turn", carried_out=True),
    Stage("before the lease is released", settles, "end_turn"),
    Stage("after the lease was released", settles, "end_turn", carried_out=True),
    Stage("before the last word is delivered", sends("done"), "end_turn"),
)


class Containers:
    """Workers as processes, one an event."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def begin(self, message: Message) -> int:
        """Hand a message to a worker; return its process id."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(describe_event(message)) + "\n")
        self._process.stdin.flush()
        return int(self._read())

    def wait(self) -> None:
        """Wait until the last worker is over."""
        assert self._read() == "over"

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture(scope="module")
def containers(cell: Cell) -> Iterator[Containers]:
    """Where workers live that are to be killed."""
    environment = os.environ | cell.environment | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "tests.chaos.worker_process"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Containers(process)
        process.kill()


def kill_at(cell: Cell, containers: Containers, stage: Stage, message: Message) -> None:
    """Hand a message to a worker of its own and kill that at the stage."""
    begun, killed = threading.Event(), threading.Event()
    process: list[int] = []

    def kill() -> None:
        begun.wait(END_TIMEOUT_S)
        os.kill(process[0], signal.SIGKILL)
        killed.set()

    def strike(_call: Call) -> Fault:
        if not stage.carried_out:
            kill()
            return Reset()
        return LoseAnswer(then=kill)

    with cell.weather(Once(stage.call, strike)):
        process.append(containers.begin(message))
        begun.set()
        containers.wait()
    assert killed.is_set(), f"the run never came to be {stage.name}"


@pytest.mark.req("F-ENV-07", "A-BUDG-08", "A-LEASE-07")
@pytest.mark.parametrize("stage", STAGES, ids=[stage.name for stage in STAGES])
def test_a_run_whose_worker_was_killed_ends_once(
    cell: Cell, worker: App, containers: Containers, stage: Stage
) -> None:
    organisation = new_organisation()
    conversation = open_conversation(cell, organisation)
    asked = submit(cell, conversation, stage.question, organisation)
    assert asked.run_id is not None
    frames = cell.listen(conversation, asked.run_id, organisation=organisation)
    message = cell.receive()
    assert message is not None
    kill_at(cell, containers, stage, message)
    rounds = cell.provider.count_rounds(asked.question)

    cell.lapse_leases()
    cell.show_again(message)
    settle(cell, worker)

    (run,) = list_runs(cell, "run_id = %s", asked.run_id)
    assert run.stop_reason == stage.stop
    check(cell, organisation, [asked])
    if rounds:
        assert cell.provider.count_rounds(asked.question) == rounds, "the provider was asked again"
    check_frames(cell, frames)
    seqs = [json.loads(frame)["seq"] for frame in frames if json.loads(frame)["seq"] > 0]
    assert seqs == sorted(seqs)
    following = submit(cell, conversation, "say", organisation)
    settle(cell, worker)
    check(cell, organisation, [asked, following])


@pytest.mark.req("A-LEASE-07")
def test_two_workers_with_one_message_give_one_answer(cell: Cell, worker: App) -> None:
    organisation = new_organisation()
    asked = submit(cell, open_conversation(cell, organisation), "search", organisation)
    message = cell.receive()
    assert message is not None
    barrier = threading.Barrier(2)

    def work(app: App) -> None:
        barrier.wait()
        app(describe_event(message), None)

    threads = [threading.Thread(target=work, args=(app,)) for app in (worker, cell.build_worker())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    settle(cell, worker)

    check(cell, organisation, [asked])
    assert cell.provider.count_rounds(asked.question) == 2


def test_a_lease_that_expires_under_a_live_worker_silences_it(cell: Cell, worker: App) -> None:
    organisation = new_organisation()
    asked = submit(cell, open_conversation(cell, organisation), "say", organisation)
    message = cell.receive()
    assert asked.run_id is not None
    assert message is not None
    cell.provider.interfere = lambda _: cell.reap()
    try:
        cell.hand_over(worker, message)
    finally:
        cell.provider.interfere = lambda _: None
    settle(cell, worker)

    check(cell, organisation, [asked])
    assert [run.stop_reason for run in list_runs(cell, "run_id = %s", asked.run_id)] == ["interrupted"]
    said = "".join(str(e["payload"].get("delta", "")) for e in read_log(cell, asked.run_id))
    assert "wheels" not in said

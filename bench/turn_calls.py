"""Counts what one turn asks of AWS: the real services and AWS adapters, over moto, at a live model's pace."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from equerry.adapters.aws.admission import DynamoAdmissionAdapter
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.connections import DynamoConnectionAdapter
from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.adapters.aws.leases import DynamoLeaseAdapter
from equerry.adapters.aws.queue import SqsQueueAdapter
from equerry.adapters.aws.replay_log import DynamoReplayLogAdapter
from equerry.adapters.fixture.script import Pause, ScriptedRound, replay
from equerry.channel.timekeeping import keep_time
from equerry.engine.messages import ToolCallBlock
from equerry.engine.model import RoundEnd, TextDelta, ToolCallReady, ToolSpec
from equerry.engine.tool import ToolEffect, ToolOutcome
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.usage import Usage
from equerry.runtime.clock import SystemClock
from equerry.runtime.minting import new_identifier
from moto import mock_aws

from tests.contract.aws_backends import create_table
from tests.unit.services.world import World

ANSWER_TOKENS = 400
TOKENS_A_SECOND = 60
SEARCH_ROUND_S = 1.5
FIRST_TOKEN_S = 1.0
SEARCH_S = 0.3


@dataclass
class TurnCalls:
    """What one turn with one search and one open socket asked for."""

    write_units: float = 0
    read_units: float = 0
    queue_requests: int = 0
    frames: int = 0
    frame_bytes: int = 0
    worker_s: float = 0
    operations: Counter[str] = field(default_factory=Counter)

    def count(self, params: Mapping[str, Any], model: Any, **_: Any) -> None:
        """Count one request as it leaves; an item is up to 1 KB to write and 4 KB to read."""
        self.operations[model.name] += 1
        if model.service_model.service_name == "sqs":
            self.queue_requests += 1
            return
        reads, writes = _units(model.name, params)
        self.read_units += reads
        self.write_units += writes


class Search:
    """Stands for retrieval, which runs in the function and the database."""

    label = "Searching"
    effect: ToolEffect = "read"
    spec = ToolSpec(name="search", description="Searches.", input_schema={"type": "object"})

    def run(self, _arguments: Mapping[str, object]) -> ToolOutcome:
        """Take as long as an embedding and a query do."""
        SystemClock().sleep(SEARCH_S)
        return ToolOutcome(content="found", summary="6 passages")


def count_turn() -> TurnCalls:
    """Run one turn from the question to `done`."""
    calls = TurnCalls()
    with _aws() as clients:
        world = _build_world(clients)
        conversation = world.open_conversation()
        reader = world.connect("reader")
        _count_into(calls, clients)
        accepted = world.submit(conversation)
        world.sockets.subscribe(reader, conversation, run_id=accepted.run_id, after=0)
        began_s = world.clock.monotonic_s()
        world.deliver(accepted)
        calls.worker_s = world.clock.monotonic_s() - began_s
        frames = world.channel.list_frames(reader)
    calls.frames, calls.frame_bytes = len(frames), sum(len(frame.encode()) for frame in frames)
    # The worker's poll receives and deletes the message, and the pulse hides it at once and every 8 s.
    calls.queue_requests += 3 + int(calls.worker_s / 8)
    return calls


@contextmanager
def _aws() -> Iterator[AwsClients]:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    os.environ.update(dict.fromkeys(names, "test"), AWS_DEFAULT_REGION="us-east-1")
    os.environ.pop("AWS_ENDPOINT_URL", None)
    with mock_aws():
        yield AwsClients()


def _count_into(calls: TurnCalls, clients: AwsClients) -> None:
    for client in (clients.dynamodb, clients.sqs):
        events: Any = client.meta.events
        events.register("before-parameter-build", calls.count)


def _build_world(clients: AwsClients) -> World:
    clock, dynamo = SystemClock(), clients.dynamodb
    leases = create_table(dynamo, sort=None)
    tables = {name: create_table(dynamo, sort="S") for name in ("connections", "flags", "usage")}
    attributes = {"FifoQueue": "true", "VisibilityTimeout": "330"}
    url = clients.sqs.create_queue(QueueName="turns.fifo", Attributes=cast("Any", attributes))["QueueUrl"]
    stand_ins: dict[str, Any] = {
        "clock": clock,
        "leases": DynamoLeaseAdapter(dynamo, leases, new_identifier),
        "interrupts": DynamoInterruptAdapter(dynamo, tables["flags"], clock),
        "log": DynamoReplayLogAdapter(dynamo, create_table(dynamo, sort="N"), new_identifier),
        "connections": DynamoConnectionAdapter(dynamo, tables["connections"]),
        "queue": SqsQueueAdapter(clients.sqs, url),
    }
    script = replay(_rounds())
    world = World(script=script, build_tools=lambda *_: (Search(),), keep_time=keep_time, **stand_ins)
    admissions: Any = DynamoAdmissionAdapter(
        dynamo, leases=leases, usage=tables["usage"], clock=clock, jitter=lambda: 0.5
    )
    world.admissions = admissions
    return world


def _rounds() -> list[ScriptedRound]:
    usage = Usage(input_tokens=3000, output_tokens=ANSWER_TOKENS)
    search = ToolCallBlock(call_id=ToolCallId("call-1"), tool="search", arguments={"query": "leave"})
    pace = Pause(1 / TOKENS_A_SECOND)
    words = (step for _ in range(ANSWER_TOKENS) for step in (TextDelta("word "), pace))
    return [
        ScriptedRound(
            (Pause(SEARCH_ROUND_S), ToolCallReady(search), RoundEnd(stop="tool_use", usage=Usage()))
        ),
        ScriptedRound((Pause(FIRST_TOKEN_S), *words, RoundEnd(stop="end_turn", usage=usage))),
    ]


def _units(operation: str, params: Mapping[str, Any]) -> tuple[float, float]:
    """Return read and write units of one request."""
    reading = 1.0 if params.get("ConsistentRead") else 0.5
    match operation:
        case "GetItem" | "Query" | "Scan":
            return reading, 0
        case "BatchGetItem":
            asked = params["RequestItems"].values()
            each = ((1.0 if table.get("ConsistentRead") else 0.5) * len(table["Keys"]) for table in asked)
            return sum(each), 0
        case "TransactWriteItems":
            return 0, 2 * len(params["TransactItems"])
        case _:
            return 0, 1

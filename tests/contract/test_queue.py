"""QueuePort: over memory and over SQS."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.queue import SqsQueueAdapter
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.ports.queue import QueuePort

from tests.contract.aws_backends import BACKENDS, new_name, start_aws
from tests.fakes.clock import FixedClock
from tests.fakes.queue import Delivery, MemoryQueueAdapter

C, D = ConversationId("c-1"), ConversationId("c-2")
R1, R2 = RunId("r-1"), RunId("r-2")


@dataclass(frozen=True)
class Queue:
    port: QueuePort
    receive: Callable[[], Delivery | None]
    delete: Callable[[str], None]
    wait: Callable[[float], None]

    def take(self) -> Delivery:
        delivery = self.receive()
        assert delivery is not None
        return delivery


@pytest.fixture(params=["memory", *BACKENDS])
def queue(request: pytest.FixtureRequest) -> Iterator[Queue]:
    """A queue whose messages stay hidden for longer than any test takes."""
    with _open(request.param, visibility_s=60) as queue:
        yield queue


@pytest.fixture(params=["memory", *BACKENDS])
def brief(request: pytest.FixtureRequest) -> Iterator[Queue]:
    """A queue whose messages stay hidden for two seconds."""
    with _open(request.param, visibility_s=2) as queue:
        yield queue


@contextmanager
def _open(backend: str, *, visibility_s: int) -> Iterator[Queue]:
    if backend == "memory":
        clock = FixedClock()
        memory = MemoryQueueAdapter(clock, visibility_s=visibility_s)
        yield Queue(memory, memory.receive, memory.delete, clock.advance)
        return
    with start_aws(backend) as clients:
        yield _sqs(clients, visibility_s)


def _sqs(clients: AwsClients, visibility_s: int) -> Queue:
    url = clients.sqs.create_queue(
        QueueName=f"{new_name()}.fifo",
        Attributes={"FifoQueue": "true", "VisibilityTimeout": str(visibility_s)},
    )["QueueUrl"]

    def receive() -> Delivery | None:
        messages = clients.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=0).get("Messages", [])
        for message in messages:
            body = json.loads(message["Body"])
            assert body.keys() == {"runId", "conversationId"}
            return Delivery(
                message["ReceiptHandle"], RunId(body["runId"]), ConversationId(body["conversationId"])
            )
        return None

    def delete(receipt: str) -> None:
        clients.sqs.delete_message(QueueUrl=url, ReceiptHandle=receipt)

    return Queue(SqsQueueAdapter(clients.sqs, url), receive, delete, time.sleep)


def test_a_worker_receives_the_run_and_its_conversation(queue: Queue) -> None:
    queue.port.enqueue_run(R1, C)

    delivery = queue.take()

    assert (delivery.run_id, delivery.conversation_id) == (R1, C)


def test_a_run_handed_over_twice_is_delivered_once(queue: Queue) -> None:
    queue.port.enqueue_run(R1, C)
    queue.port.enqueue_run(R1, C)

    queue.delete(queue.take().receipt)

    assert queue.receive() is None


def test_a_conversations_runs_are_delivered_one_after_the_other(queue: Queue) -> None:
    queue.port.enqueue_run(R1, C)
    queue.port.enqueue_run(R2, C)

    first = queue.take()
    meanwhile = queue.receive()
    queue.delete(first.receipt)

    assert (first.run_id, meanwhile, queue.take().run_id) == (R1, None, R2)


def test_conversations_do_not_wait_for_each_other(queue: Queue) -> None:
    queue.port.enqueue_run(R1, C)
    queue.port.enqueue_run(R2, D)

    assert {queue.take().run_id, queue.take().run_id} == {R1, R2}


def test_a_message_that_nobody_hides_comes_back(brief: Queue) -> None:
    brief.port.enqueue_run(R1, C)
    brief.take()

    brief.wait(2.2)

    assert brief.take().run_id == R1


def test_a_hidden_message_stays_away_for_longer(brief: Queue) -> None:
    brief.port.enqueue_run(R1, C)
    brief.port.hide_message(brief.take().receipt, seconds=60)

    brief.wait(2.2)

    assert brief.receive() is None


def test_a_message_given_back_is_there_at_once(queue: Queue) -> None:
    queue.port.enqueue_run(R1, C)

    queue.port.hide_message(queue.take().receipt, seconds=0)

    assert queue.take().run_id == R1


def test_a_stale_or_invented_receipt_is_ignored(queue: Queue) -> None:
    queue.port.enqueue_run(R1, C)
    used = queue.take().receipt
    queue.delete(used)

    queue.port.hide_message(used, seconds=60)
    queue.port.hide_message("invented", seconds=60)


@pytest.mark.parametrize("seconds", [-1, 43_201])
def test_no_message_is_hidden_for_longer_than_the_queue_allows(queue: Queue, seconds: int) -> None:
    with pytest.raises(ValueError, match="seconds must be"):
        queue.port.hide_message("any", seconds=seconds)

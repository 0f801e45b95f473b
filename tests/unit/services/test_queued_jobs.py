"""A queued job: references alone, and what counts its attempts, hides it and says why it failed."""

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import pytest
from equerry.adapters.aws.queue import SqsQueueAdapter
from equerry.adapters.fixture.script import replay, say
from equerry.services.pulse import ALIVE_S, HIDDEN_S

from tests.fakes.queue import Delivery, MemoryQueueAdapter
from tests.unit.architecture.data_page import read_rows
from tests.unit.architecture.documents import read_names
from tests.unit.services.world import ADA, Mortality, ProcessKilled, World

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class RecordedSqs:
    """What an SQS client was asked to send."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send_message(self, **message: Any) -> None:
        self.sent.append(message)


def work(world: World, delivery: Delivery) -> None:
    world.worker.execute(delivery.run_id, delivery.conversation_id, receipt=delivery.receipt)


def take(world: World) -> Delivery:
    delivery = world.queue.receive()
    assert delivery is not None
    return delivery


@pytest.mark.req("F-DATA-07")
def test_a_job_names_its_run_and_holds_no_word_and_no_credential() -> None:
    sqs = RecordedSqs()
    world = World()
    conversation = world.open_conversation()
    accepted = world.submit(conversation, "canary-of-the-question")

    SqsQueueAdapter(cast("SQSClient", sqs), "queue", lambda: TRACE).enqueue_run(accepted.run_id, conversation)

    (message,) = sqs.sent
    body = json.loads(message["MessageBody"])
    assert body == {"runId": accepted.run_id, "conversationId": conversation, "traceparent": TRACE}
    assert tuple(body) == read_names(read_rows("Queued job")["Body"])
    assert message.keys() == {"QueueUrl", "MessageBody", "MessageGroupId", "MessageDeduplicationId"}
    assert (message["MessageDeduplicationId"], message["MessageGroupId"]) == (accepted.run_id, conversation)


@pytest.mark.req("F-DATA-07")
@pytest.mark.parametrize(
    ("died_at", "attempts", "stop_reason", "error_code"),
    [("runs.start_run", 2, "end_turn", None), ("model.stream", 1, "interrupted", "interrupted")],
)
def test_a_job_whose_worker_died_comes_back_and_its_run_says_how_often_and_why(
    died_at: str, attempts: int, stop_reason: str, error_code: str | None
) -> None:
    rehearsal = World(script=replay([say("Hello.")]))
    rehearsal.submit(rehearsal.open_conversation())
    work(rehearsal, take(rehearsal))
    world = World(script=replay([say("Hello.")]))
    world.queue = MemoryQueueAdapter(world.clock)
    world.fate = Mortality(kill_at=rehearsal.fate.effects.index(died_at) + 1, after=True)
    accepted = world.submit(world.open_conversation())

    with suppress(ProcessKilled):
        work(world, take(world))
    assert world.queue.receive() is None, "hidden while its worker may still live"
    world.fate = Mortality()
    world.clock.advance(max(HIDDEN_S, ALIVE_S) + 1)
    again = take(world)
    work(world, again)

    record = world.explaining.fetch_record(ADA, accepted.run_id)
    assert again.run_id == accepted.run_id
    assert (record.status, record.attempts) == ("ended", attempts)
    assert (record.stop_reason, record.error_code) == (stop_reason, error_code)

"""A caller's trace reaches the worker that answers."""

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from equerry.adapters.aws.queue import SqsQueueAdapter
from equerry.runtime.observability import logger
from equerry.runtime.tracing import enter_trace, find_traceparent
from equerry.runtime.worker import WorkerApp

from tests.unit.runtime.test_http_app import Api, opened
from tests.unit.services.world import World

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from tests.fakes.queue import MemoryQueueAdapter

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GIVEN = f"00-{TRACE}-{SPAN}-01"


class Outbox:
    """Keeps what would be sent to SQS."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send_message(self, **message: Any) -> None:
        self.sent.append(message)


def ask(headers: dict[str, str]) -> tuple[World, dict[str, Any]]:
    """Ask over HTTP; returns the message that waits for a worker."""
    outbox = Outbox()
    queue = SqsQueueAdapter(cast("SQSClient", outbox), "https://queue.example/turns.fifo", find_traceparent)
    world = World(queue=cast("MemoryQueueAdapter", queue))
    api = Api(world)
    conversation = opened(api)
    status, _, _ = api("POST", f"/conversations/{conversation}/messages", {"text": "Well?"}, headers=headers)
    assert status == 202
    (message,) = outbox.sent
    return world, message


def work(world: World, message: dict[str, Any]) -> dict[str, Any]:
    """Let a worker handle the message; returns what its log lines carry."""
    record = {
        "messageId": "m-1",
        "receiptHandle": "r-1",
        "body": message["MessageBody"],
        "attributes": {"MessageGroupId": message["MessageGroupId"], "ApproximateReceiveCount": "1"},
        "eventSource": "aws:sqs",
    }
    world.queue = World().queue
    assert WorkerApp(world.worker)({"Records": [record]}, SimpleNamespace()) == {"batchItemFailures": []}
    return logger.get_current_keys()


def test_a_caller_s_trace_is_on_the_lines_of_the_worker_that_answers() -> None:
    world, message = ask({"traceparent": GIVEN})

    handed_over = json.loads(message["MessageBody"])["traceparent"]
    carried = work(world, message)

    assert handed_over.split("-")[1] == carried["trace_id"] == TRACE
    spans = {SPAN, handed_over.split("-")[2], carried["span_id"]}
    assert len(spans) == 3


def test_a_caller_that_does_not_want_a_sample_is_heeded() -> None:
    _, message = ask({"traceparent": GIVEN[:-1] + "0"})

    assert json.loads(message["MessageBody"])["traceparent"].endswith("-00")


@pytest.mark.parametrize(
    "headers", [{}, {"traceparent": "nonsense"}, {"traceparent": f"00-{TRACE}-{SPAN}-01-x"}]
)
def test_without_a_sound_header_a_trace_begins_with_the_request(headers: dict[str, str]) -> None:
    _, first = ask(headers)
    _, second = ask(headers)

    traces = {json.loads(message["MessageBody"])["traceparent"] for message in (first, second)}
    assert len(traces) == 2
    assert all(re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", trace) for trace in traces)
    assert not any(TRACE in trace for trace in traces)


def test_a_message_of_an_older_version_begins_a_trace_of_its_own() -> None:
    world, message = ask({})
    body = json.loads(message["MessageBody"])
    del body["traceparent"]

    carried = work(world, {**message, "MessageBody": json.dumps(body)})

    assert re.fullmatch(r"[0-9a-f]{32}", carried["trace_id"])


def test_a_request_never_goes_on_with_the_trace_of_the_one_before() -> None:
    before = enter_trace(GIVEN)
    after = enter_trace(None)

    assert before.trace_id == TRACE
    assert after.trace_id != TRACE

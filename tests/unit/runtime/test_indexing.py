"""The indexer's app: S3 notices inside SQS messages, each reported on its own."""

import json
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from urllib.parse import quote_plus

import pytest
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import ConversationId, CorpusId, DocumentId, OrganisationId, RunId
from equerry.ports.uploads import UploadKey
from equerry.runtime.indexing import LAST_ATTEMPT, RETRY_AFTER_S, IndexerApp
from equerry.services.holding import HIDDEN_S, HoldingService
from equerry.services.indexing import IndexingService

from tests.unit.services.test_indexing import Desk

CONTEXT = object()


@dataclass
class HidingQueue:
    """Remembers how long each message was hidden for, and tells when one has been hidden often."""

    hidden: dict[str, list[int]] = field(default_factory=dict)
    is_down: bool = False
    often: Event = field(default_factory=Event)

    def enqueue_run(self, run_id: RunId, conversation_id: ConversationId) -> None:
        raise AssertionError("the indexer sends nothing")

    def hide_message(self, receipt: str, *, seconds: int) -> None:
        times = self.hidden.setdefault(receipt, [])
        times.append(seconds)
        if len(times) > 3:
            self.often.set()
        if self.is_down:
            raise Unavailable("the queue does not answer")


@dataclass
class Bus:
    """Wraps notices the way S3 and SQS do."""

    desk: Desk = field(default_factory=Desk)
    queue: "HidingQueue" = field(default_factory=lambda: HidingQueue())

    @property
    def app(self) -> IndexerApp:
        return IndexerApp(self.desk.service, HoldingService(beat_every_s=0.01), {"content": self.queue})

    def handle(self, *bodies: Any, attempt: int = 1) -> list[str]:
        records = [build_record(f"m{number}", body, attempt) for number, body in enumerate(bodies)]
        answer = self.app({"Records": records}, CONTEXT)
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def build_record(message_id: str, body: Any, attempt: int) -> dict[str, Any]:
    return {
        "messageId": message_id,
        "receiptHandle": f"receipt of {message_id}",
        "body": body if isinstance(body, str) else json.dumps(body),
        "attributes": {"ApproximateReceiveCount": str(attempt)},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:content",
        "awsRegion": "us-east-1",
    }


def notify(*keys: UploadKey | str, event: str = "ObjectCreated:Put") -> dict[str, Any]:
    return {
        "Records": [
            {
                "eventName": event,
                "s3": {"bucket": {"name": "b"}, "object": {"key": quote_plus(str(key), "/")}},
            }
            for key in keys
        ]
    }


def test_a_created_object_is_indexed() -> None:
    bus = Bus()
    keys = [bus.desk.upload(f"{name}.md", f"text of {name}") for name in ("a", "b", "c")]

    assert bus.handle(notify(keys[0], keys[1]), notify(keys[2])) == []
    assert bus.desk.read() == ["text of a", "text of b", "text of c"]


def test_a_removed_object_is_withdrawn() -> None:
    bus = Bus()
    key = bus.desk.upload("a.md", "text")
    bus.handle(notify(key))
    bus.desk.uploads.delete_document(key.organisation_id, key.corpus_id, key.document_id)

    assert bus.handle(notify(key, event="ObjectRemoved:DeleteMarkerCreated")) == []
    assert bus.desk.read() == []


def test_keys_arrive_url_encoded() -> None:
    bus = Bus()
    key = UploadKey(
        organisation_id=OrganisationId("a b+c@d"),
        corpus_id=CorpusId("handbook"),
        document_id=DocumentId("d"),
        sha256="0" * 64,
    )
    seen: list[UploadKey] = []

    class Listening(IndexingService):
        def handle_upload(self, key: UploadKey) -> Any:
            seen.append(key)
            return "ignored"

    listening = Listening(
        **{name: getattr(bus.desk.service, name) for name in IndexingService.__dataclass_fields__}
    )
    IndexerApp(listening, HoldingService(), {})({"Records": [build_record("m", notify(key), 1)]}, CONTEXT)

    assert seen == [key]


def test_s3s_test_message_and_strange_objects_are_passed_over() -> None:
    bus = Bus()

    assert bus.handle({"Service": "Amazon S3", "Event": "s3:TestEvent"}, notify("elsewhere/x")) == []


@pytest.mark.req("F-IDX-12")
def test_one_failing_message_does_not_hold_up_the_others() -> None:
    bus = Bus()
    good = bus.desk.upload("good.md", "text")

    assert bus.handle("this is no JSON", notify(good)) == ["m0"]
    assert bus.desk.read() == ["text"]


@pytest.mark.req("F-IDX-12")
def test_a_failure_of_ours_is_retried_and_told_to_the_owner_at_the_last_attempt() -> None:
    bus = Bus()
    key = bus.desk.upload("a.md", "text")
    bus.desk.embedding.is_down = True

    assert bus.handle(notify(key), attempt=LAST_ATTEMPT - 1) == ["m0"]
    assert bus.desk.document(key).status == "pending"
    assert bus.handle(notify(key), attempt=LAST_ATTEMPT) == ["m0"]
    assert bus.desk.document(key).status == "failed"

    bus.desk.embedding.is_down = False
    assert bus.handle(notify(key)) == []
    assert bus.desk.document(key).status == "published"


def test_a_document_that_cannot_be_read_is_no_failure_of_the_message() -> None:
    bus = Bus()
    key = bus.desk.upload("photo.jpeg", "x")

    assert bus.handle(notify(key)) == []
    assert bus.desk.document(key).status == "failed"


@pytest.mark.parametrize("is_down", [False, True])
def test_the_messages_of_an_indexer_that_dies_come_back_within_a_minute(is_down: bool) -> None:
    bus = Bus(queue=HidingQueue(is_down=is_down))
    keys = [bus.desk.upload(f"{name}.md", f"text of {name}") for name in ("a", "b")]
    seen_at_work: list[dict[str, list[int]]] = []

    class Slow(IndexingService):
        def handle_upload(self, key: UploadKey) -> Any:
            assert bus.queue.often.wait(10)
            seen_at_work.append({receipt: list(times) for receipt, times in bus.queue.hidden.items()})
            return "published"

    slow = Slow(**{name: getattr(bus.desk.service, name) for name in IndexingService.__dataclass_fields__})
    records = [build_record(f"m{number}", notify(key), 1) for number, key in enumerate(keys)]
    app = IndexerApp(slow, HoldingService(beat_every_s=0.01), {"content": bus.queue})
    assert app({"Records": records}, CONTEXT) == {"batchItemFailures": []}

    assert HIDDEN_S <= 60
    for hidden in seen_at_work:
        assert hidden.keys() == {"receipt of m0", "receipt of m1"}
        assert {seconds for times in hidden.values() for seconds in times} == {HIDDEN_S}
    count = {receipt: len(times) for receipt, times in bus.queue.hidden.items()}
    Event().wait(0.05)
    assert {receipt: len(times) for receipt, times in bus.queue.hidden.items()} == count


def test_a_message_that_failed_waits_long_enough_for_an_outage_to_pass() -> None:
    bus = Bus()
    good = bus.desk.upload("good.md", "text")

    assert bus.handle("this is no JSON", notify(good)) == ["m0"]

    assert bus.queue.hidden["receipt of m0"][-1] == RETRY_AFTER_S
    assert bus.queue.hidden["receipt of m1"][-1] == HIDDEN_S

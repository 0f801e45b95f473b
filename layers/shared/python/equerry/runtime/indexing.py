"""Wires the indexer, which follows the uploads bucket's notifications."""

import os
from collections.abc import Iterator, Mapping
from json import loads
from typing import Any
from urllib.parse import unquote_plus

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.queue import SqsQueueAdapter
from equerry.adapters.aws.uploads import S3UploadAdapter
from equerry.adapters.extraction.by_suffix import SuffixExtractionAdapter
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.domain.pipeline import LARGEST_DOCUMENT_BYTES, PIPELINE_VERSION
from equerry.ports.queue import QueuePort
from equerry.ports.uploads import UploadKey
from equerry.runtime.clock import SystemClock
from equerry.runtime.database import WAKING_S, open_database, require_database
from equerry.runtime.embeddings import build_embedding
from equerry.runtime.observability import logger
from equerry.runtime.settings import IndexerSettings
from equerry.services.holding import HoldingService
from equerry.services.indexing import IndexingService

LAST_ATTEMPT = 3
"""The queues set a message aside after this many; the document's owner is told then."""

RETRY_AFTER_S = 900
"""What failed is tried again this much later: two retries outlast most outages."""


class IndexerApp:
    """Handles the notifications of a batch; each message is reported on its own.

    Args:
        queues: where the messages come from, by name.
    """

    def __init__(
        self, service: IndexingService, holding: HoldingService, queues: Mapping[str, QueuePort]
    ) -> None:
        self._service = service
        self._holding = holding
        self._queues = queues
        self._processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)

    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Handle one SQS event."""
        with self._holding.hold(self._find_queues(event)) as held:
            answer = process_partial_response(
                event=event, record_handler=self._index, processor=self._processor, context=context
            )
            for record in event["Records"]:
                if {"itemIdentifier": record["messageId"]} in answer["batchItemFailures"]:
                    held.put_back(record["receiptHandle"], after_s=RETRY_AFTER_S)
            return dict(answer)

    def _find_queues(self, event: dict[str, Any]) -> dict[str, QueuePort]:
        named = (
            (record["receiptHandle"], record["eventSourceARN"].rpartition(":")[2])
            for record in event["Records"]
        )
        return {receipt: self._queues[name] for receipt, name in named if name in self._queues}

    def _index(self, record: SQSRecord) -> None:
        is_last = int(record.attributes.approximate_receive_count or "1") >= LAST_ATTEMPT
        for name, key in _read_notices(record.body):
            try:
                self._handle(name, key)
            except Exception:
                # The rim: the batch processor only counts failures, and this one needs its trace.
                logger.exception("indexing_failed", extra={"document_id": key.document_id})
                if is_last:
                    self._service.give_up(key)
                raise

    def _handle(self, name: str, key: UploadKey) -> None:
        handle = self._service.handle_removal if "ObjectRemoved" in name else self._service.handle_upload
        outcome = handle(key)
        logger.info("document_indexed", extra={"document_id": key.document_id, "outcome": outcome})


def build_indexer_app(environ: Mapping[str, str] = os.environ) -> IndexerApp:
    """Return the app of the indexer function."""
    settings, clients = IndexerSettings.from_env(environ), AwsClients()
    database = open_database(
        clients, settings.database_secret_arn, SystemClock(), silence_s=30.0, checkout_s=WAKING_S
    )
    require_database(database)
    service = IndexingService(
        documents=PostgresDocumentAdapter(database),
        uploads=S3UploadAdapter(clients.s3, settings.uploads_bucket),
        extraction=SuffixExtractionAdapter(),
        embedding=build_embedding(settings.embedding_provider),
        pipeline_version=PIPELINE_VERSION,
        limit_bytes=LARGEST_DOCUMENT_BYTES,
    )
    queues = {
        url.rpartition("/")[2]: SqsQueueAdapter(clients.sqs, url)
        for url in (settings.urgent_queue_url, settings.content_queue_url)
    }
    return IndexerApp(service, HoldingService(), queues)


def _read_notices(body: str) -> Iterator[tuple[str, UploadKey]]:
    """Yield event name and key of each notice; S3's test message and objects of another form hold none."""
    for notice in loads(body).get("Records", []):
        text = unquote_plus(notice["s3"]["object"]["key"])
        try:
            key = UploadKey.parse(text)
        except ValueError:
            logger.warning("unknown_object", extra={"key": text})
        else:
            yield notice["eventName"], key

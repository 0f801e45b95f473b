"""The indexer: documents in, from two queues."""

from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from constructs import Construct
from equerry.runtime.settings import IndexerSettings

from infra.database import Database
from infra.functions import Platform, PythonFunction
from infra.uploads import INDEXER_TIMEOUT_S, Uploads


class Indexer(Construct):
    """One function on both queues; removals come in larger batches, for they are quick."""

    def __init__(
        self, scope: Construct, id: str, *, platform: Platform, database: Database, uploads: Uploads
    ) -> None:
        super().__init__(scope, id)
        layers, config = platform.layers, platform.config
        indexer = PythonFunction(
            self,
            "Indexer",
            platform=platform,
            handler="indexer.handler.handle",
            memory_mib=1769,  # one whole processor
            timeout_s=INDEXER_TIMEOUT_S,
            extra_layers=[layers.embedding, layers.ingestion],
            settings=IndexerSettings(
                equerry_stage=config.stage,
                database_secret_arn=database.runtime.arn,
                uploads_bucket=uploads.bucket.bucket_name,
                urgent_queue_url=uploads.urgent.queue.queue_url,
                content_queue_url=uploads.content.queue.queue_url,
            ),
        )
        self.function = indexer.function
        database.runtime.grant_read(self.function)
        uploads.grant_read(self.function)
        self._listen(indexer.live, uploads, concurrency=config.limits.indexer_max_concurrency)

    def _listen(self, indexer: lambda_.Alias, uploads: Uploads, *, concurrency: int) -> None:
        for queue, batch in ((uploads.urgent.queue, 10), (uploads.content.queue, 5)):
            indexer.add_event_source(
                sources.SqsEventSource(
                    queue, batch_size=batch, report_batch_item_failures=True, max_concurrency=concurrency
                )
            )

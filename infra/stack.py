"""One stage of the whole system: composes the constructs, defines none."""

import re
from collections.abc import Mapping

from aws_cdk import CfnOutput, Environment, RemovalPolicy, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.alarms import Alarms
from infra.build import build_of
from infra.config import DatabaseAddress, StageConfig
from infra.dashboard import Dashboard
from infra.database import Aurora, Database
from infra.functions import Placement, Platform
from infra.http_api import HttpApi
from infra.indexer import Indexer
from infra.key import StageKey
from infra.layers import Layers
from infra.migrator import Migrator
from infra.models import ModelChoices
from infra.network import Network
from infra.parameters import Parameters
from infra.retention import Retention
from infra.secrets import Endpoint, GivenSecret
from infra.site import Site
from infra.structured_completion import StructuredCompletion
from infra.tables import Tables
from infra.turn_queue import TurnQueue
from infra.turns import TurnResources, Turns
from infra.uploads import Uploads
from infra.websocket_api import WebSocketApi


class EquerryStack(Stack):
    """The local stage differs from every other in its database and its network, and in nothing else."""

    def __init__(self, scope: Construct, id: str, *, config: StageConfig, env: Environment) -> None:
        super().__init__(scope, id, env=env, termination_protection=config.production)
        self._config = config
        self._removal = RemovalPolicy.RETAIN if config.production else RemovalPolicy.DESTROY
        self._key = StageKey(self, "Key", removal=self._removal).key
        database, placement = self._database()
        platform = Platform(
            config=config, layers=Layers(self, "Layers", config=config), key=self._key, placement=placement
        )
        self._serve(platform, self._resources(database))

    def _database(self) -> tuple[Database, Placement | None]:
        given = self._config.database
        if isinstance(given, DatabaseAddress):
            secret = GivenSecret(self, "DatabaseOwner", address=given, key=self._key).secret
            endpoint = Endpoint(host=given.host, port=str(given.port), name=given.name)
            return self._roles(endpoint, secret), None
        network = Network(self, "Network", network=given.network, key=self._key, config=self._config)
        aurora = Aurora(self, "Aurora", database=given, network=network, key=self._key, config=self._config)
        database = self._roles(aurora.endpoint(), aurora.secret)
        database.node.add_dependency(aurora)
        return database, network.placement()

    def _roles(self, endpoint: Endpoint, owner: secretsmanager.Secret) -> Database:
        return Database(
            self, "Database", endpoint=endpoint, owner=owner, key=self._key, removal=self._removal
        )

    def _resources(self, database: Database) -> TurnResources:
        key, removal, config = self._key, self._removal, self._config
        return TurnResources(
            database=database,
            tables=Tables(self, "Tables", key=key, removal=removal),
            queue=TurnQueue(self, "TurnQueue", key=key, worker_timeout_s=config.limits.worker_timeout_s),
            uploads=Uploads(self, "Uploads", key=key, removal=removal, config=config),
            http=HttpApi(self, "HttpApi", key=key, config=config),
            sockets=WebSocketApi(self, "WebSocketApi", key=key, config=config),
            models=ModelChoices(self, "Models", config=config),
        )

    def _serve(self, platform: Platform, at: TurnResources) -> None:
        migrator = Migrator(self, "Migrator", platform=platform, database=at.database)
        turns = Turns(self, "Turns", platform=platform, resources=at, build=build_of(self._config))
        indexer = Indexer(self, "Indexer", platform=platform, database=at.database, uploads=at.uploads)
        retention = Retention(
            self,
            "Retention",
            platform=platform,
            database=at.database,
            tables=at.tables,
            uploads=at.uploads,
        )
        migrator.before(turns, indexer, retention)
        completion = StructuredCompletion(
            self,
            "StructuredCompletion",
            platform=platform,
            switches=turns.switches,
            models=at.models,
            documents=at.uploads.bucket,
        )
        functions = {
            "Http": turns.http,
            "WebSocket": turns.websocket,
            "Worker": turns.worker,
            "Reaper": turns.reaper,
            "Indexer": indexer.function,
            "Retention": retention.function,
            "StructuredCompletion": completion.waited.function,
            "StructuredCompletionStream": completion.streamed.function,
            "Migrator": migrator.function,
        }
        alarms = self._watch(at, functions)
        published = {
            "HttpApiUrl": at.http.api.api_endpoint,
            "WebSocketUrl": at.sockets.url,
            "UploadsBucketName": at.uploads.bucket.bucket_name,
            "TurnQueueUrl": at.queue.queue.queue_url,
        }
        Parameters(self, "Parameters", config=self._config, published=_kebab(published))
        self._output(
            **published,
            HttpApiId=at.http.api.api_id,
            WebSocketApiId=at.sockets.api.api_id,
            WebSocketStage=at.sockets.stage.stage_name,
            TurnDeadLetterQueueUrl=at.queue.dead.queue_url,
            WorkerFunctionName=turns.worker.function_name,
            IndexerFunctionName=indexer.function.function_name,
            RetentionFunctionName=retention.function.function_name,
            RuntimeSecretArn=at.database.runtime.arn,
            **completion.outputs(),
            AlarmTopicArn=alarms.topic.topic_arn,
        )
        if self._config.site:
            self._page(at)

    def _watch(self, at: TurnResources, functions: Mapping[str, lambda_.IFunction]) -> Alarms:
        dead = {
            "TurnQueue": at.queue.dead,
            "ContentQueue": at.uploads.content.dead,
            "UrgentQueue": at.uploads.urgent.dead,
        }
        alarms = Alarms(self, "Alarms", config=self._config, key=self._key)
        alarms.watch_functions(functions)
        alarms.watch_apis(at.http, at.sockets)
        alarms.watch_turns(at.queue.queue)
        alarms.watch_switches()
        alarms.watch_retrieval()
        alarms.watch_models()
        alarms.watch_dead_letters(dead)
        waiting = {
            "Turns": at.queue.queue,
            "Documents to index": at.uploads.content.queue,
            "Removals": at.uploads.urgent.queue,
        }
        dashboard = Dashboard(self, "Dashboard", config=self._config)
        dashboard.show_queues(waiting, dead)
        dashboard.show_functions(functions, reaper=functions["Reaper"])
        dashboard.show_apis(at.http, at.sockets)
        return alarms

    def _page(self, at: TurnResources) -> None:
        assert self._config.site  # noqa: S101  # asked by the caller
        site = Site(
            self,
            "Site",
            site=self._config.site,
            api_endpoint=at.http.api.api_endpoint,
            websocket_url=at.sockets.url,
            key=self._key,
            config=self._config,
        )
        self._output(SiteBucketName=site.bucket.bucket_name, SiteUrl=site.url)

    def _output(self, **outputs: str) -> None:
        for name, text in outputs.items():
            CfnOutput(self, name, value=text)


def _kebab(published: dict[str, str]) -> dict[str, str]:
    return {re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower(): text for name, text in published.items()}

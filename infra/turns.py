"""The functions of a turn: HTTP accepts it, the worker runs it, the reaper ends what was lost."""

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from constructs import Construct
from equerry.runtime.settings import (
    HttpSettings,
    ReaperSettings,
    WebSocketSettings,
    WorkerSettings,
    limit_variables,
)

from infra.billing import grant_entitlements
from infra.build import Build
from infra.database import Database
from infra.directory import directory_variables, grant_directory
from infra.functions import Platform, PythonFunction
from infra.http_api import HttpApi
from infra.models import ModelChoices
from infra.parameters import Switches
from infra.tables import Tables
from infra.turn_queue import TurnQueue
from infra.uploads import Uploads
from infra.websocket_api import WebSocketApi

WORKER_MEMORY_MIB = 1024
"""A worker waits for its model and is paid for it; with the embedding model it takes 0.4 GB at its most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResources:
    """What the functions of a turn touch."""

    database: Database
    tables: Tables
    queue: TurnQueue
    uploads: Uploads
    http: HttpApi
    sockets: WebSocketApi
    models: ModelChoices


class Turns(Construct):
    """Four functions from two folders."""

    def __init__(
        self, scope: Construct, id: str, *, platform: Platform, resources: TurnResources, build: Build
    ) -> None:
        super().__init__(scope, id)
        self._platform = platform
        self._resources = resources
        self._build = build
        self.switches = Switches(self, "AssistantSwitch", config=platform.config)
        self.http = self._http(build)
        self.websocket = self._websocket()
        self.worker = self._worker()
        self.reaper = self._reaper()

    def _http(self, build: Build) -> lambda_.Function:
        at, config = self._resources, self._platform.config
        entry = PythonFunction(
            self,
            "Http",
            platform=self._platform,
            handler="turn.http.handle",
            memory_mib=1024,
            timeout_s=29,
            reserved_concurrency=config.limits.http_reserved_concurrency,
            settings=HttpSettings(
                equerry_stage=config.stage,
                equerry_version=build.version,
                equerry_commit=build.commit,
                auth_jwks_url=config.auth.jwks_url,
                auth_issuer=config.auth.issuer,
                auth_audience=config.auth.audience,
                database_secret_arn=at.database.runtime.arn,
                leases_table=at.tables.leases.table.table_name,
                usage_table=at.tables.usage.table.table_name,
                connections_table=at.tables.connections.table.table_name,
                replay_table=at.tables.replay.table.table_name,
                run_flags_table=at.tables.run_flags.table.table_name,
                turn_queue_url=at.queue.queue.queue_url,
                uploads_bucket=at.uploads.bucket.bucket_name,
                websocket_url=at.sockets.url,
                websocket_endpoint=at.sockets.endpoint,
                profiles_path=f"{config.data_path}/profiles",
                intent_tier=config.intent_tier,
                organisations_unlisted_enabled=config.auth.organisations == "all",
                billing_entitlements_table=config.billing.entitlements_table if config.billing else None,
                **directory_variables(config),
                **self.switches.variables,
                **limit_variables(config.turns),
            ),
        )
        http = entry.function
        grant_entitlements(http, config)
        grant_directory(http, config)
        self.switches.grant_read(http)
        at.database.runtime.grant_read(http)
        at.tables.grant_accept_turns(http)
        at.queue.grant_hand_off(http)
        at.sockets.grant_publish(http)  # an accepted turn may first end what a dead worker left
        at.uploads.grant_upload(http)
        at.uploads.grant_artifacts(http, read=True)
        at.sockets.grant_publish(http)
        at.http.serve(entry.live)
        return http

    def _websocket(self) -> lambda_.Function:
        at, config = self._resources, self._platform.config
        entry = PythonFunction(
            self,
            "WebSocket",
            platform=self._platform,
            handler="turn.websocket.handle",
            memory_mib=512,
            timeout_s=29,
            settings=WebSocketSettings(
                equerry_stage=config.stage,
                database_secret_arn=at.database.runtime.arn,
                leases_table=at.tables.leases.table.table_name,
                connections_table=at.tables.connections.table.table_name,
                replay_table=at.tables.replay.table.table_name,
                uploads_bucket=at.uploads.bucket.bucket_name,
                websocket_endpoint=at.sockets.endpoint,
                **directory_variables(config),
            ),
        )
        websocket = entry.function
        grant_directory(websocket, config)
        at.database.runtime.grant_read(websocket)
        at.tables.grant_hold_sockets(websocket)
        at.sockets.grant_publish(websocket)
        at.sockets.serve(entry.live)
        return websocket

    def _worker(self) -> lambda_.Function:
        at, limits = self._resources, self._platform.config.limits
        runner = PythonFunction(
            self,
            "Worker",
            platform=self._platform,
            handler="worker.handler.handle",
            memory_mib=WORKER_MEMORY_MIB,
            timeout_s=limits.worker_timeout_s,
            extra_layers=[self._platform.layers.embedding],
            settings=self._worker_settings(),
        )
        worker = runner.function
        grant_directory(worker, self._platform.config)
        at.database.runtime.grant_read(worker)
        at.tables.grant_run_turns(worker)
        self.switches.grant_read(worker)
        at.sockets.grant_publish(worker)
        at.uploads.grant_artifacts(worker)
        at.models.grant(worker, conversations=True)
        runner.live.add_event_source(
            sources.SqsEventSource(
                at.queue.queue,
                batch_size=1,
                report_batch_item_failures=True,
                max_concurrency=limits.worker_max_concurrency,
            )
        )
        return worker

    def _reaper(self) -> lambda_.Function:
        at = self._resources
        round_maker = PythonFunction(
            self,
            "Reaper",
            platform=self._platform,
            handler="worker.reaper.handle",
            memory_mib=512,
            timeout_s=55,
            settings=ReaperSettings(
                equerry_stage=self._platform.config.stage,
                database_secret_arn=at.database.runtime.arn,
                leases_table=at.tables.leases.table.table_name,
                usage_table=at.tables.usage.table.table_name,
                connections_table=at.tables.connections.table.table_name,
                replay_table=at.tables.replay.table.table_name,
                run_flags_table=at.tables.run_flags.table.table_name,
                uploads_bucket=at.uploads.bucket.bucket_name,
                websocket_endpoint=at.sockets.endpoint,
                **directory_variables(self._platform.config),
            ),
        )
        reaper = round_maker.function
        grant_directory(reaper, self._platform.config)
        at.database.runtime.grant_read(reaper)
        at.tables.grant_settle_turns(reaper)
        at.sockets.grant_publish(reaper)
        at.uploads.grant_artifacts(reaper)
        schedule = events.Schedule.rate(Duration.minutes(1))
        # A run missed is made up a minute later, so a failed one is not tried again.
        target = targets.LambdaFunction(round_maker.live, retry_attempts=0)
        events.Rule(self, "EachMinute", schedule=schedule, targets=[target])
        return reaper

    def _worker_settings(self) -> WorkerSettings:
        at, config = self._resources, self._platform.config
        return WorkerSettings(
            equerry_stage=config.stage,
            database_secret_arn=at.database.runtime.arn,
            leases_table=at.tables.leases.table.table_name,
            usage_table=at.tables.usage.table.table_name,
            connections_table=at.tables.connections.table.table_name,
            replay_table=at.tables.replay.table.table_name,
            run_flags_table=at.tables.run_flags.table.table_name,
            turn_queue_url=at.queue.queue.queue_url,
            uploads_bucket=at.uploads.bucket.bucket_name,
            websocket_endpoint=at.sockets.endpoint,
            worker_timeout_s=config.limits.worker_timeout_s,
            equerry_version=self._build.version,
            equerry_commit=self._build.commit,
            most_retrieved_characters=config.alarms.retrieved_characters,
            **directory_variables(config),
            **at.models.variables(conversations=True),
            profiles_path=f"{config.data_path}/profiles",
            **self.switches.variables,
            **limit_variables(config.turns),
        )

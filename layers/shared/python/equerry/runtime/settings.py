"""What each function reads from its environment; infra sets it through `to_env` and no other way."""

from dataclasses import dataclass

from equerry.kernel.kinds import value
from equerry.runtime.environment import Environment


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings(Environment):
    """The HTTP entry points."""

    equerry_stage: str
    equerry_version: str
    equerry_commit: str
    auth_jwks_url: str
    auth_issuer: str
    auth_audience: str
    database_secret_arn: str
    leases_table: str
    connections_table: str
    replay_table: str
    run_flags_table: str
    turn_queue_url: str
    uploads_bucket: str
    websocket_url: str
    websocket_endpoint: str
    profiles_path: str = "/opt/profiles"
    default_profile: str = "docs"


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class WebSocketSettings(Environment):
    """The WebSocket entry points."""

    equerry_stage: str
    database_secret_arn: str
    leases_table: str
    connections_table: str
    replay_table: str
    websocket_endpoint: str


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings(Environment):
    """Turns from the queue."""

    equerry_stage: str
    database_secret_arn: str
    leases_table: str
    connections_table: str
    replay_table: str
    run_flags_table: str
    turn_queue_url: str
    websocket_endpoint: str
    worker_timeout_s: int = 300
    model_provider: str = "extractive"
    model_id: str | None = None
    model_secret_arn: str | None = None
    model_base_url: str | None = None
    extractive_word_delay_ms: int = 15
    embedding_provider: str = "embedded"
    profiles_path: str = "/opt/profiles"


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ReaperSettings(Environment):
    """The schedule that ends what dead workers left."""

    equerry_stage: str
    database_secret_arn: str
    leases_table: str
    connections_table: str
    replay_table: str
    run_flags_table: str
    websocket_endpoint: str


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class IndexerSettings(Environment):
    """Documents from the upload bucket's notifications."""

    equerry_stage: str
    database_secret_arn: str
    uploads_bucket: str
    embedding_provider: str = "embedded"


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings(Environment):
    """The scheduled sweep, under the platform role."""

    equerry_stage: str
    database_secret_arn: str
    uploads_bucket: str
    conversation_retention_days: int = 365
    superseded_version_retention_days: int = 30


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredCompletionSettings(Environment):
    """Completions for other services: no database, no API."""

    equerry_stage: str
    model_provider: str = "extractive"
    model_id: str | None = None
    model_secret_arn: str | None = None
    model_base_url: str | None = None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class MigratorSettings(Environment):
    """Applies migrations and keeps the roles' passwords in step with their secrets."""

    equerry_stage: str
    owner_secret_arn: str
    runtime_secret_arn: str
    platform_secret_arn: str
    migrations_path: str = "/opt/migrations"

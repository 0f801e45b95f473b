"""What each function reads from its environment; infra sets it through `to_env` and no other way."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from equerry.domain.limits import TurnLimits
from equerry.domain.retrieval import MOST_CHARACTERS
from equerry.domain.switches import SWITCH_KEPT_S
from equerry.kernel.kinds import value
from equerry.runtime.environment import Environment
from equerry.runtime.gateway_settings import GatewaySettings


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSettings(Environment):
    """Where a function finds what an operator may change without a deployment."""

    assistant_enabled: str | None = None
    assistant_enabled_ssm_parameter: str | None = None
    assistant_enabled_kept_s: float = SWITCH_KEPT_S
    assistant_off_ssm_prefix: str | None = None
    turn_limits_ssm_parameter: str | None = None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings(ParameterSettings):
    """What the environment says of the limits; None is the override's, or the committed default."""

    assistant_message_chars: int | None = None
    assistant_user_turns_per_minute: int | None = None
    assistant_organisation_turns_per_minute: int | None = None
    assistant_daily_tokens: int | None = None
    assistant_turn_input_tokens: int | None = None
    assistant_turn_output_tokens: int | None = None
    assistant_floor_tokens: int | None = None
    assistant_max_tool_rounds: int | None = None
    assistant_max_tokens: int | None = None
    assistant_max_tool_calls: int | None = None
    assistant_history_max_messages: int | None = None
    assistant_wall_s: int | None = None
    assistant_first_chunk_s: int | None = None
    assistant_inter_chunk_s: int | None = None
    assistant_text_interval_ms: int | None = None

    @property
    def stated_limits(self) -> dict[str, int]:
        """What the environment states, by the names of TurnLimits."""
        pairs = ((limit, getattr(self, limit_variable(limit))) for limit in LIMITS)
        return {limit: amount for limit, amount in pairs if amount is not None}


LIMITS = tuple(limit.name for limit in fields(TurnLimits))
_OTHERWISE_NAMED = {
    "tool_rounds": "assistant_max_tool_rounds",
    "round_tokens": "assistant_max_tokens",
    "tool_calls": "assistant_max_tool_calls",
    "history_messages": "assistant_history_max_messages",
}


def limit_variable(limit: str) -> str:
    """Return the setting of a limit; the environment's variable is the same in capitals."""
    return _OTHERWISE_NAMED.get(limit, f"assistant_{limit}")


def limit_variables(stated: Mapping[str, int]) -> dict[str, Any]:
    """Return the settings that state these limits, by name."""
    return {limit_variable(limit): amount for limit, amount in stated.items()}


@value
@dataclass(frozen=True, kw_only=True)
class DirectorySettings(Environment):
    """Where the product says who belongs to which projects; without an address, tokens do.

    Attributes:
        directory_secret_arn: holds what this service proves itself with there.
    """

    directory_url: str | None = None
    directory_secret_arn: str | None = None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings(LimitSettings, DirectorySettings):
    """The HTTP entry points."""

    equerry_stage: str
    equerry_version: str
    equerry_commit: str
    auth_jwks_url: str
    auth_issuer: str
    auth_audience: str
    database_secret_arn: str
    leases_table: str
    usage_table: str
    connections_table: str
    replay_table: str
    run_flags_table: str
    turn_queue_url: str
    uploads_bucket: str
    websocket_url: str
    websocket_endpoint: str
    profiles_path: str = "/opt/profiles"
    default_profile: str = "docs"
    intent_tier: str = "words"
    organisations_unlisted_enabled: bool = True
    billing_entitlements_table: str | None = None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class WebSocketSettings(DirectorySettings):
    """The WebSocket entry points."""

    equerry_stage: str
    database_secret_arn: str
    leases_table: str
    connections_table: str
    replay_table: str
    uploads_bucket: str
    websocket_endpoint: str


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings(LimitSettings, GatewaySettings, DirectorySettings):
    """Turns from the queue."""

    equerry_stage: str
    database_secret_arn: str
    leases_table: str
    usage_table: str
    connections_table: str
    replay_table: str
    run_flags_table: str
    turn_queue_url: str
    uploads_bucket: str
    websocket_endpoint: str
    worker_timeout_s: int = 300
    equerry_version: str = "0"
    equerry_commit: str = "unknown"
    most_retrieved_characters: int = MOST_CHARACTERS
    assistant_conversation_provider: str | None = None
    assistant_conversation_provider_ssm_parameter: str | None = None
    assistant_conversation_model_id: str | None = None
    assistant_conversation_model_id_ssm_parameter: str | None = None
    extractive_word_delay_ms: int = 15
    embedding_provider: str = "embedded"
    profiles_path: str = "/opt/profiles"


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ReaperSettings(DirectorySettings):
    """The schedule that ends what dead workers left."""

    equerry_stage: str
    database_secret_arn: str
    leases_table: str
    usage_table: str
    connections_table: str
    replay_table: str
    run_flags_table: str
    uploads_bucket: str
    websocket_endpoint: str


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class IndexerSettings(Environment):
    """Documents from the upload bucket's notifications."""

    equerry_stage: str
    database_secret_arn: str
    uploads_bucket: str
    urgent_queue_url: str
    content_queue_url: str
    embedding_provider: str = "embedded"


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings(Environment):
    """What ends the life of data, under the platform role.

    Attributes:
        service_mint_arn: the product's function that mints our tokens; locally an address.
        identity_service_url: where the product tells of organisations.
    """

    equerry_stage: str
    database_secret_arn: str
    service_mint_arn: str = field(metadata={"variable": "SERVICE_MINT_FUNCTION_ARN"})
    identity_service_url: str
    leases_table: str
    connections_table: str
    replay_table: str
    run_flags_table: str
    usage_table: str
    uploads_bucket: str
    assistant_conversation_retention_days: int = 365
    assistant_action_retention_days: int = 730
    superseded_version_retention_days: int = 30
    org_offboarding_purge_after_days: int = 90
    org_offboarding_export: bool = False


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class MigratorSettings(Environment):
    """Applies migrations and keeps the roles' passwords in step with their secrets."""

    equerry_stage: str
    owner_secret_arn: str
    runtime_secret_arn: str
    platform_secret_arn: str
    migrations_path: str = "/opt/migrations"

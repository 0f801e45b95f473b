"""What each function reads from its environment; infra sets it through `to_env` and no other way."""

from dataclasses import dataclass
from typing import Any

from equerry.domain.limits import TurnLimits
from equerry.domain.switches import SWITCH_KEPT_S
from equerry.kernel.kinds import value
from equerry.runtime.environment import Environment

_DEFAULT = TurnLimits()


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings(Environment):
    """What the environment says of the limits; each is the committed default unless it is set."""

    assistant_message_chars: int = _DEFAULT.message_chars
    assistant_user_turns_per_minute: int = _DEFAULT.user_turns_per_minute
    assistant_organisation_turns_per_minute: int = _DEFAULT.organisation_turns_per_minute
    assistant_daily_tokens: int = _DEFAULT.daily_tokens
    assistant_turn_input_tokens: int = _DEFAULT.turn_input_tokens
    assistant_turn_output_tokens: int = _DEFAULT.turn_output_tokens
    assistant_floor_tokens: int = _DEFAULT.floor_tokens
    assistant_max_tool_rounds: int = _DEFAULT.tool_rounds
    assistant_max_tokens: int = _DEFAULT.round_tokens
    assistant_max_tool_calls: int = _DEFAULT.tool_calls
    assistant_history_max_messages: int = _DEFAULT.history_messages

    @property
    def turn_limits(self) -> TurnLimits:
        """The table that services read.

        Raises:
            ValueError: a limit below 1, or a floor above a whole turn.
        """
        return TurnLimits(**{limit: getattr(self, name) for limit, name in _SETTING_OF.items()})


_SETTING_OF = {
    "tool_rounds": "assistant_max_tool_rounds",
    "round_tokens": "assistant_max_tokens",
    "tool_calls": "assistant_max_tool_calls",
    "history_messages": "assistant_history_max_messages",
} | {
    limit: f"assistant_{limit}"
    for limit in (
        "message_chars",
        "user_turns_per_minute",
        "organisation_turns_per_minute",
        "daily_tokens",
        "turn_input_tokens",
        "turn_output_tokens",
        "floor_tokens",
    )
}


def limit_variables(limits: TurnLimits) -> dict[str, Any]:
    """Return the settings that say `limits`, by name."""
    return {name: getattr(limits, limit) for limit, name in _SETTING_OF.items()}


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings(LimitSettings):
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
    assistant_enabled: str | None = None
    assistant_enabled_ssm_parameter: str | None = None
    assistant_enabled_kept_s: float = SWITCH_KEPT_S


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
class WorkerSettings(LimitSettings):
    """Turns from the queue."""

    equerry_stage: str
    database_secret_arn: str
    leases_table: str
    usage_table: str
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
    usage_table: str
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
    urgent_queue_url: str
    content_queue_url: str
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

"""What a stage can be told: the typed configuration every construct reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from equerry.domain.routing import KEYLESS

ModelProvider = Literal["extractive", "bedrock", "anthropic", "openai", "google", "fixture"]
Architecture = Literal["arm64", "x86_64"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """The interpreter and processor of every function, and so of every wheel."""

    python: str
    architecture: Architecture
    allow_uncompiled_layers: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNetwork:
    """A VPC of our own: two zones, one NAT gateway."""

    cidr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingNetwork:
    """A VPC that is there already, given whole so that synth looks nothing up."""

    vpc_id: str
    availability_zones: tuple[str, ...]
    private_subnet_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraDatabase:
    """Aurora PostgreSQL Serverless v2; with a minimum of 0 units it pauses when nobody is connected."""

    min_capacity: float
    auto_pause_minutes: int
    max_capacity: float
    backup_retention_days: int
    network: NewNetwork | ExistingNetwork


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """A PostgreSQL server that is there already; for the local stage."""

    host: str
    port: int
    name: str
    owner_username: str
    owner_password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthConfig:
    """Whose tokens are accepted; `organisations` says whether one that nobody listed has the assistant."""

    jwks_url: str
    issuer: str
    audience: str
    organisations: Literal["all", "listed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryConfig:
    """Where the product says who belongs to which projects, and the secret that it is asked with."""

    url: str | None
    secret_arn: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingConfig:
    """The product's table of entitlements, which every write is checked against."""

    entitlements_table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """Who answers; the secret holds the provider's key.

    Attributes:
        by_parameter: an operator may change the choice without a deployment.
        allowed: further pairs that may be chosen, `fallbacks` those that stand in.
        purposes, reasoning: by purpose.
        secrets, base_urls: of further providers.
        evaluations: the reference of what admitted each pair; None where whoever is at the desk decides.
        prices, retirements: what the lists of them lack, or have otherwise.
    """

    provider: ModelProvider
    id: str | None
    secret_arn: str | None
    base_url: str | None
    by_parameter: bool
    allowed: tuple[str, ...]
    fallbacks: tuple[str, ...]
    purposes: Mapping[str, str]
    reasoning: Mapping[str, str]
    secrets: Mapping[str, str]
    base_urls: Mapping[str, str]
    guardrail: str | None
    prices: tuple[str, ...]
    retirements: tuple[str, ...]
    evaluations: Mapping[str, str] | None

    @property
    def pairs(self) -> tuple[str, ...]:
        """Every provider/model that is named, whatever for; all of them may be asked."""
        own = (f"{self.provider}/{self.id}",) if self.id else ()
        named = dict.fromkeys((*own, *self.allowed, *self.purposes.values(), *self.fallbacks))
        return tuple(pair for pair in named if pair not in KEYLESS)

    @property
    def uses_bedrock(self) -> bool:
        """Whether any model that may be asked is Bedrock's."""
        pairs = (*self.allowed, *self.fallbacks, *self.purposes.values())
        return self.provider == "bedrock" or any(pair.startswith("bedrock/") for pair in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredCompletionConfig:
    """Both functions that complete for other services; a concurrency of None is unreserved.

    Attributes:
        enabled: what their switch says at first, and only then.
        document_hosts: buckets whose documents callers may name, besides the stage's own.
        profiles: by name, as `equerry.domain.completion_profiles` reads them.
    """

    enabled: bool
    memory_mib: int
    timeout_s: int
    deadline_ms: int
    max_output_tokens: int
    reserved_concurrency: int | None
    document_hosts: tuple[str, ...]
    profiles: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig:
    """Bounds on time, concurrency and rate; a concurrency of None is unreserved.

    Attributes:
        reserve_concurrency: whether anything is reserved; Lambda refuses to in an account with a limit of 10.
    """

    worker_timeout_s: int
    worker_max_concurrency: int
    indexer_max_concurrency: int
    http_reserved_concurrency: int | None
    reserve_concurrency: bool
    requests_per_second: int
    request_burst: int
    log_retention_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionConfig:
    """How long data lives; `export` also delivers an organisation's export ahead of its purge."""

    schedule_expression: str
    conversation_days: int
    action_days: int
    superseded_days: int
    purge_after_days: int
    export: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityConfig:
    """The product's directory of organisations, and what mints this service's tokens for it.

    `minting` is a function's ARN; the local stage has an address.
    """

    service_url: str
    minting: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CostAlarmConfig:
    """When the account's month at Amazon Bedrock becomes news, and whose; a topic goes before addresses."""

    threshold_usd: int
    emails: tuple[str, ...]
    topic_arn: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmsConfig:
    """Who hears of alarms; a topic of None is made, a cost of None is not watched.

    `retrieved_characters` is what one person may have retrieved in 24 hours before one rings.
    """

    topic_arn: str | None
    cost: CostAlarmConfig | None
    retrieved_characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteConfig:
    """The built page in folder `page`, on CloudFront; `token_url` is where the product signs its users in."""

    token_url: str
    page: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalConfig:
    """What differs because an emulator stands in for AWS."""

    endpoint_url: str
    data_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageConfig:
    """One deployment of the whole system; `turns` is what it states of TurnLimits, by name."""

    stage: str
    region: str
    account: str | None
    production: bool
    retrieval_backend: Literal["postgres"]
    allowed_origins: tuple[str, ...]
    intent_tier: str
    runtime: RuntimeConfig
    database: AuroraDatabase | DatabaseAddress
    auth: AuthConfig
    billing: BillingConfig | None
    directory: DirectoryConfig
    model: ModelConfig
    structured_completion: StructuredCompletionConfig
    limits: LimitsConfig
    retention: RetentionConfig
    identity: IdentityConfig
    turns: Mapping[str, int]
    alarms: AlarmsConfig
    site: SiteConfig | None
    local: LocalConfig | None

    @property
    def data_path(self) -> str:
        """Where functions find `profiles/` and `migrations/`; the emulator has no /opt."""
        return self.local.data_path if self.local else "/opt"

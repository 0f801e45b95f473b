"""Which adapter serves ModelPort: the one place that knows; a provider not chosen is never imported."""

import json
import random
from typing import TYPE_CHECKING, Protocol

from equerry.kernel.clock import Clock
from equerry.ports.model import ModelPort

if TYPE_CHECKING:
    from equerry.adapters.aws.clients import AwsClients


class ModelSettings(Protocol):
    """What every function that asks a model reads from its environment."""

    @property
    def model_provider(self) -> str: ...
    @property
    def model_id(self) -> str | None: ...
    @property
    def model_secret_arn(self) -> str | None: ...
    @property
    def model_base_url(self) -> str | None: ...


def build_model(settings: ModelSettings, clients: "AwsClients", clock: Clock) -> ModelPort:
    """Build the configured provider's adapter; `clients` is used only by a provider that has a key.

    Raises:
        ValueError: an unknown provider, or a setting or key that the chosen one needs is missing.
        Unavailable: the key's secret could not be read.
    """
    match settings.model_provider:
        case "extractive":
            return _build_extractive(settings, clock)
        case "fixture":
            return _build_fixture(clock)
        case "anthropic":
            return _build_anthropic(settings, clients, clock)
        case unknown:
            raise ValueError(
                f"MODEL_PROVIDER must be 'extractive', 'anthropic' or 'fixture', got {unknown!r}"
            )


def _build_extractive(settings: ModelSettings, clock: Clock) -> ModelPort:
    from equerry.adapters.embedded.extractive import ExtractiveModelAdapter

    # Only functions with a reader have a pace.
    delay_ms = getattr(settings, "extractive_word_delay_ms", 0)
    return ExtractiveModelAdapter(clock=clock, word_delay_s=delay_ms / 1000)


def _build_fixture(clock: Clock) -> ModelPort:
    from equerry.adapters.fixture.model import FixtureModelAdapter

    return FixtureModelAdapter(clock)


def _build_anthropic(settings: ModelSettings, clients: "AwsClients", clock: Clock) -> ModelPort:
    if not settings.model_id:
        raise ValueError("MODEL_ID must name the model when MODEL_PROVIDER is 'anthropic'")
    if not settings.model_secret_arn:
        raise ValueError("MODEL_SECRET_ARN must name the key's secret when MODEL_PROVIDER is 'anthropic'")
    from equerry.adapters.anthropic.model import connect_anthropic
    from equerry.adapters.aws.secrets import SecretsReader

    secret = SecretsReader(clients.secrets, clock).fetch_secret(settings.model_secret_arn)
    return connect_anthropic(
        model=settings.model_id,
        api_key=_read_key(secret),
        base_url=settings.model_base_url,
        clock=clock,
        jitter=random.random,
    )


def _read_key(secret: str) -> str:
    """Take the key as it is, or out of {"apiKey": "..."}, which is what the AWS console makes of it."""
    text = secret.strip()
    if text.startswith("{"):
        text = str(json.loads(text).get("apiKey", "")).strip()
    if not text:
        raise ValueError('the secret that MODEL_SECRET_ARN names must be the key, or {"apiKey": "..."}')
    return text

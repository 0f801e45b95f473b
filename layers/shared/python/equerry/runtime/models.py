"""Which adapter serves ModelPort: the one place that knows; a provider not chosen is never imported."""

import json
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from equerry.domain.pricing import Prices, build_price_list
from equerry.domain.routing import (
    ENVIRONMENT,
    KEYLESS,
    PURPOSES,
    RETIRED,
    ModelTable,
    Purpose,
    Stated,
    parse_pairs,
)
from equerry.engine.model import ModelChoice, ReasoningLevel
from equerry.kernel.clock import Clock
from equerry.ports.model import ModelPort, ModelUnusable

if TYPE_CHECKING:
    from equerry.adapters.aws.clients import AwsClients

LIVE = ("bedrock", "anthropic", "openai", "google")
"""Providers with a model behind a network."""
KEYED = ("anthropic", "openai", "google")
"""Those of them that want a key."""
_LEVELS: Mapping[str, ReasoningLevel] = {"low": "low", "medium": "medium", "high": "high"}


class _ConnectKeyed(Protocol):
    def __call__(
        self, *, model: str, api_key: str, base_url: str | None, clock: Clock, jitter: Callable[[], float]
    ) -> ModelPort: ...


class ModelSettings(Protocol):
    """What every function that asks a model reads from its environment."""

    @property
    def model_provider(self) -> str | None: ...
    @property
    def model_id(self) -> str | None: ...
    @property
    def model_secret_arn(self) -> str | None: ...
    @property
    def model_base_url(self) -> str | None: ...
    @property
    def model_secrets(self) -> str | None: ...
    @property
    def model_base_urls(self) -> str | None: ...
    @property
    def model_allowed(self) -> str | None: ...
    @property
    def model_fallbacks(self) -> str | None: ...
    @property
    def model_purposes(self) -> str | None: ...
    @property
    def model_reasoning(self) -> str | None: ...
    @property
    def model_guardrail(self) -> str | None: ...
    @property
    def model_evaluations(self) -> str | None: ...
    @property
    def model_prices(self) -> str | None: ...
    @property
    def model_retirements(self) -> str | None: ...


def build_model(settings: ModelSettings, clients: "AwsClients", clock: Clock) -> ModelPort:
    """Build the adapter of the model that the environment states; nothing stands in for it.

    Raises:
        ValueError: an unknown provider, or a setting or key that the chosen one needs is missing.
        Unavailable: the key's secret could not be read.
    """
    require_settings(settings)
    stated = Stated(provider=settings.model_provider, model=settings.model_id)
    table = build_table(settings)
    return build_adapter(table.resolve((ENVIRONMENT, stated)).choice, settings, clients, clock)


def require_settings(settings: ModelSettings) -> None:
    """Raise ValueError where the environment states a model that could never be asked."""
    provider = settings.model_provider
    if provider is None or provider in KEYLESS:
        return
    if provider in RETIRED or provider not in LIVE:
        known = ", ".join(repr(name) for name in (*KEYLESS, *LIVE))
        raise ValueError(f"MODEL_PROVIDER must be one of {known}, got {provider!r}")
    if not settings.model_id:
        raise ValueError(f"MODEL_ID must name the model when MODEL_PROVIDER is {provider!r}")
    if provider in KEYED and not settings.model_secret_arn:
        raise ValueError(f"MODEL_SECRET_ARN must name the key's secret when MODEL_PROVIDER is {provider!r}")


def build_table(settings: ModelSettings) -> ModelTable:
    """Return whom this function may ask; the model that the environment states is always among them.

    Raises:
        ValueError: an entry of a list does not parse; the message says which.
    """
    stated: tuple[ModelChoice, ...] = ()
    if settings.model_provider and settings.model_id and settings.model_provider not in KEYLESS:
        stated = (ModelChoice(provider=settings.model_provider, model=settings.model_id),)
    return ModelTable(
        allowed=(*stated, *parse_pairs(settings.model_allowed or "")),
        fallbacks=parse_pairs(settings.model_fallbacks or ""),
        reasoning={
            purpose: _read_level(level) for purpose, level in _read_purposes(settings.model_reasoning)
        },
        evaluations=_read_evaluations(settings.model_evaluations),
    )


def read_purposes(settings: ModelSettings) -> dict[Purpose, Stated]:
    """Return what the table of purposes says, by purpose.

    Raises:
        ValueError: an unknown purpose, or an entry that is no pair.
    """
    found: dict[Purpose, Stated] = {}
    for purpose, pair in _read_purposes(settings.model_purposes):
        (choice,) = parse_pairs(pair)
        keyless = next((name for name, known in KEYLESS.items() if known == choice), None)
        found[purpose] = Stated(provider=keyless or choice.provider, model=None if keyless else choice.model)
    return found


def build_prices(settings: ModelSettings) -> Prices:
    """Return what models cost; a provider that is reached elsewhere has only the prices that are stated.

    Raises:
        ValueError: a price is written otherwise.
    """
    elsewhere = set(_read_entries(settings.model_base_urls))
    if settings.model_base_url and settings.model_provider:
        elsewhere.add(settings.model_provider)
    return build_price_list(settings.model_prices, elsewhere=elsewhere)


def build_adapter(
    choice: ModelChoice, settings: ModelSettings, clients: "AwsClients", clock: Clock
) -> ModelPort:
    """Build one pair's adapter; `clients` is used only by a provider that has a key.

    Raises:
        ModelUnusable: this function has no key for the provider, or does not know it.
        ValueError: the key's secret holds none.
        Unavailable: the key's secret could not be read.
    """
    match choice.provider:
        case "embedded":
            return _build_extractive(settings, clock)
        case "fixture":
            return _build_fixture(clock)
        case "bedrock":
            return _build_bedrock(choice, settings, clock)
        case "anthropic" | "openai" | "google":
            return _build_keyed(choice, settings, clients, clock)
        case "codex":
            return _build_codex(choice, settings, clock)
        case unknown:
            raise ModelUnusable(f"no adapter speaks to the provider {unknown!r}")


def _build_extractive(settings: ModelSettings, clock: Clock) -> ModelPort:
    from equerry.adapters.embedded.extractive import ExtractiveModelAdapter

    # Only functions with a reader have a pace.
    delay_ms = getattr(settings, "extractive_word_delay_ms", 0)
    return ExtractiveModelAdapter(clock=clock, word_delay_s=delay_ms / 1000)


def _build_fixture(clock: Clock) -> ModelPort:
    from equerry.adapters.fixture.model import FixtureModelAdapter

    return FixtureModelAdapter(clock)


def _build_bedrock(choice: ModelChoice, settings: ModelSettings, clock: Clock) -> ModelPort:
    from equerry.adapters.bedrock.model import connect_bedrock
    from equerry.adapters.bedrock.request import Guardrail

    identifier, _, version = (settings.model_guardrail or "").rpartition(":")
    return connect_bedrock(
        model=choice.model,
        base_url=_find_address(choice.provider, settings),
        clock=clock,
        jitter=random.random,
        guardrail=Guardrail(identifier, version) if identifier else None,
    )


def _build_keyed(
    choice: ModelChoice, settings: ModelSettings, clients: "AwsClients", clock: Clock
) -> ModelPort:
    return _load_connect(choice.provider)(
        model=choice.model,
        api_key=_fetch_key(choice.provider, settings, clients, clock),
        base_url=_find_address(choice.provider, settings),
        clock=clock,
        jitter=random.random,
    )


def connect_candidate(
    choice: ModelChoice, *, api_key: str | None, base_url: str | None, clock: Clock
) -> ModelPort:
    """Return the adapter of a live provider's model, for who evaluates it at a desk.

    Args:
        api_key: for a provider that wants one.
    """
    if choice.provider == "bedrock":
        from equerry.adapters.bedrock.model import connect_bedrock

        return connect_bedrock(model=choice.model, base_url=base_url, clock=clock, jitter=random.random)
    connect = _load_connect(choice.provider)
    return connect(
        model=choice.model, api_key=api_key or "", base_url=base_url, clock=clock, jitter=random.random
    )


def _load_connect(provider: str) -> _ConnectKeyed:
    """Return what opens a keyed provider's adapter, importing that one's client alone."""
    match provider:
        case "anthropic":
            from equerry.adapters.anthropic.model import connect_anthropic

            return connect_anthropic
        case "openai":
            from equerry.adapters.openai.model import connect_openai

            return connect_openai
        case _:
            from equerry.adapters.google.model import connect_google

            return connect_google


def _build_codex(choice: ModelChoice, settings: ModelSettings, clock: Clock) -> ModelPort:
    from equerry.adapters.codex.model import connect_codex

    # Its address is a command on this machine.
    return connect_codex(
        model=choice.model,
        executable=_find_address(choice.provider, settings),
        clock=clock,
        jitter=random.random,
    )


def _find_address(provider: str, settings: ModelSettings) -> str | None:
    if provider == settings.model_provider and settings.model_base_url:
        return settings.model_base_url
    return _read_entries(settings.model_base_urls).get(provider)


def _fetch_key(provider: str, settings: ModelSettings, clients: "AwsClients", clock: Clock) -> str:
    arn = settings.model_secret_arn if provider == settings.model_provider else None
    arn = arn or _read_entries(settings.model_secrets).get(provider)
    if not arn:
        raise ModelUnusable(f"no secret is configured that holds a key for {provider}")
    from equerry.adapters.aws.secrets import SecretsReader

    return _read_key(SecretsReader(clients.secrets, clock).fetch_secret(arn))


def _read_key(secret: str) -> str:
    """Take the key as it is, or out of {"apiKey": "..."}, which is what the AWS console makes of it."""
    text = secret.strip()
    if text.startswith("{"):
        text = str(json.loads(text).get("apiKey", "")).strip()
    if not text:
        raise ValueError('the secret that MODEL_SECRET_ARN names must be the key, or {"apiKey": "..."}')
    return text


def _read_entries(text: str | None) -> dict[str, str]:
    """Read `name=text` entries; the text may hold anything but a comma."""
    pairs = (entry.partition("=") for entry in (text or "").split(",") if entry.strip())
    return {name.strip(): said.strip() for name, _, said in pairs}


def _read_evaluations(text: str | None) -> dict[ModelChoice, str] | None:
    if text in (None, "any"):
        return None
    entries = _read_entries(text).items()
    return {choice: reference for pair, reference in entries if reference for choice in parse_pairs(pair)}


def _read_purposes(text: str | None) -> list[tuple[Purpose, str]]:
    known = {str(purpose): purpose for purpose in PURPOSES}
    entries = _read_entries(text)
    if unknown := entries.keys() - known.keys():
        raise ValueError(f"purposes are {', '.join(known)}; got {', '.join(sorted(unknown))}")
    return [(known[name], said) for name, said in entries.items()]


def _read_level(text: str) -> ReasoningLevel:
    if text not in _LEVELS:
        raise ValueError(f"MODEL_REASONING knows {', '.join(_LEVELS)}, got {text!r}")
    return _LEVELS[text]

"""Wires the model gateway: what each source says, the adapters, and whom to leave alone."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from equerry.adapters.aws.parameters import Parameter, ParameterReader
from equerry.domain.retirements import build_retirements
from equerry.domain.routing import (
    CONVERSATION_ENVIRONMENT,
    CONVERSATION_PARAMETER,
    ENVIRONMENT,
    PARAMETER,
    TABLE,
    ModelTable,
    Purpose,
    Route,
    Stated,
    read_stated,
)
from equerry.engine.model import ModelChoice
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Unavailable
from equerry.ports.metrics import MetricPort
from equerry.ports.model import ModelPort, ModelUnusable
from equerry.ports.provider_health import ProviderHealthPort
from equerry.ports.switches import SwitchPort
from equerry.runtime.models import ModelSettings, build_adapter, build_table, read_purposes, require_settings
from equerry.services.gateway import ConcurrencyLimit, GatewayService
from equerry.services.model_switching import guard_model
from equerry.services.model_watch import ModelWatchService
from equerry.services.provider_health import ProviderHealthService

if TYPE_CHECKING:
    from equerry.adapters.aws.clients import AwsClients

logger = logging.getLogger(__name__)

KEPT_S = 60.0
"""How old a choice of model may be when it is used."""
PLACE_WAIT_S = 20.0
_FALSE_START = (Unavailable, ModelUnusable)


class GatewaySettings(ModelSettings, Protocol):
    """What a function's environment says of its models; the two names are of parameters."""

    @property
    def model_provider_ssm_parameter(self) -> str | None: ...
    @property
    def model_id_ssm_parameter(self) -> str | None: ...
    @property
    def model_most_at_once(self) -> int: ...


def build_gateway(
    settings: GatewaySettings,
    clients: "AwsClients",
    clock: Clock,
    *,
    parameters: ParameterReader,
    store: ProviderHealthPort,
    switch: SwitchPort | None = None,
    metrics: MetricPort | None = None,
    warm: Purpose | None = "conversational",
) -> GatewayService:
    """Return the gateway; the model that is wanted for `warm` is opened at once, if it can be.

    Without `warm` no SDK is imported before the first round.

    Raises:
        ValueError: a setting that is wrong or missing, by name.
    """
    require_settings(settings)
    chooser = _Chooser(
        settings=settings,
        parameters=parameters,
        table=build_table(settings),
        purposes=read_purposes(settings),
    )
    opener = _Opener(build=partial(_build, settings=settings, clients=clients, clock=clock, switch=switch))
    limits = _Limits(settings.model_most_at_once)
    gateway = GatewayService(
        find_route=chooser.find_route,
        open_model=opener.open_model,
        find_limit=limits.find_limit,
        health=ProviderHealthService(store=store, clock=clock),
        watch=ModelWatchService(
            clock=clock, retirements=build_retirements(settings.model_retirements), metrics=metrics
        ),
        clock=clock,
    )
    if warm:
        _warm(chooser, opener, warm)
    return gateway


def list_gateway_parameters(settings: GatewaySettings) -> tuple[Parameter, ...]:
    """Return the parameters that may choose a model, to be read before the first request."""
    names = (
        settings.model_provider_ssm_parameter,
        settings.model_id_ssm_parameter,
        getattr(settings, "assistant_conversation_provider_ssm_parameter", None),
        getattr(settings, "assistant_conversation_model_id_ssm_parameter", None),
    )
    return tuple(Parameter(name=name, kept_s=KEPT_S) for name in names if name)


def _build(
    choice: ModelChoice,
    *,
    settings: ModelSettings,
    clients: "AwsClients",
    clock: Clock,
    switch: SwitchPort | None,
) -> ModelPort:
    model = build_adapter(choice, settings, clients, clock)
    return guard_model(model, switch) if switch else model


def _warm(chooser: "_Chooser", opener: "_Opener", purpose: Purpose) -> None:
    """Import and connect while the function starts, which is not paid for by a person's waiting."""
    try:
        opener.open_model(chooser.find_route(purpose).arms[0])
    except _FALSE_START as failure:
        logger.warning("model_not_opened", extra={"code": failure.code, "detail": str(failure)})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chooser:
    """Finds a purpose's route anew each time; what was refused is logged when it changes."""

    settings: GatewaySettings
    parameters: ParameterReader
    table: ModelTable
    purposes: Mapping[Purpose, Stated]
    _told: dict[Purpose, tuple[str, ...]] = field(default_factory=dict)

    def find_route(self, purpose: Purpose) -> Route:
        resolved = self.table.resolve(*self._list_sources(purpose))
        if resolved.refused != self._told.get(purpose, ()):
            for reason in resolved.refused:
                logger.warning("model_choice_refused", extra={"purpose": purpose, "reason": reason})
        self._told[purpose] = resolved.refused
        return self.table.route(resolved.choice, purpose)

    def _list_sources(self, purpose: Purpose) -> list[tuple[str, Stated]]:
        settings = self.settings
        shared = [
            (ENVIRONMENT, read_stated(settings.model_provider, settings.model_id)),
            (PARAMETER, self._read(settings.model_provider_ssm_parameter, settings.model_id_ssm_parameter)),
        ]
        table = [(TABLE, self.purposes[purpose])] if purpose in self.purposes else []
        return [*(self._list_conversation_sources() if purpose == "conversational" else ()), *table, *shared]

    def _list_conversation_sources(self) -> list[tuple[str, Stated]]:
        """Empty in functions that hold no conversations."""
        provider, model = "assistant_conversation_provider", "assistant_conversation_model_id"
        direct = read_stated(self._get(provider), self._get(model))
        named = self._read(self._get(f"{provider}_ssm_parameter"), self._get(f"{model}_ssm_parameter"))
        return [(CONVERSATION_ENVIRONMENT, direct), (CONVERSATION_PARAMETER, named)]

    def _get(self, name: str) -> str | None:
        found: str | None = getattr(self.settings, name, None)
        return found

    def _read(self, provider: str | None, model: str | None) -> Stated:
        return read_stated(self._find_text(provider), self._find_text(model))

    def _find_text(self, name: str | None) -> str | None:
        return self.parameters.find_text(Parameter(name=name, kept_s=KEPT_S)) if name else None


class _Opener:
    """Opens each model once; a failure to is not kept."""

    def __init__(self, build: "partial[ModelPort]") -> None:
        self._build = build
        self._opened: dict[ModelChoice, ModelPort] = {}
        self._guard = Lock()

    def open_model(self, choice: ModelChoice) -> ModelPort:
        with self._guard:
            if choice not in self._opened:
                self._opened[choice] = self._build(choice)
            return self._opened[choice]


class _Limits:
    """One bound a provider."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[str, ConcurrencyLimit] = {}

    def find_limit(self, provider: str) -> ConcurrencyLimit:
        return self._known.setdefault(provider, ConcurrencyLimit(self._most, wait_s=PLACE_WAIT_S))

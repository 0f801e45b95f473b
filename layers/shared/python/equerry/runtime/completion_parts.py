"""Wires what both structured completion functions consist of; imports no SDK before a model is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from equerry.adapters.aws.parameters import ParameterReader
from equerry.adapters.aws.switches import ParameterSwitchAdapter
from equerry.adapters.embedded.provider_health import ProcessProviderHealthAdapter
from equerry.domain.completion import CompletionRefused, CompletionRequest
from equerry.domain.completion_profiles import parse_profiles
from equerry.kernel.clock import Clock
from equerry.ports.metrics import MetricName, TurnShape
from equerry.runtime.completion_models import PURPOSE, CompletionModels, ProfileSource
from equerry.runtime.gateway import build_gateway, list_gateway_parameters
from equerry.runtime.gateway_settings import StructuredCompletionSettings
from equerry.runtime.models import build_table
from equerry.services.completion import CompletionService
from equerry.surfaces.completion import decode_request

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

    from equerry.adapters.aws.clients import AwsClients

RESERVE_S = 3.0
"""Kept of Lambda's time, so that a late provider becomes an answer and not a time-out."""


class LateClients:
    """AWS clients whose SDK is imported when a key is read."""

    @property
    def secrets(self) -> "SecretsManagerClient":
        """Provider keys."""
        from equerry.adapters.aws.clients import AwsClients

        return AwsClients().secrets


@dataclass(slots=True)
class LateMetrics:
    """MetricPort whose library is imported with the first measure."""

    stage: str

    def record(
        self,
        measures: Mapping[MetricName, float],
        *,
        profile: str | None = None,
        model: str | None = None,
        shape: TurnShape | None = None,
    ) -> None:
        """See MetricPort."""
        from equerry.adapters.aws.metrics import EmfMetricAdapter

        EmfMetricAdapter(self.stage).record(measures, profile=profile, model=model, shape=shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionParts:
    """What an app of these functions needs."""

    service: CompletionService
    hosts: frozenset[str]

    def decode(self, event: object) -> CompletionRequest:
        """Read a payload; see `decode_request`."""
        return decode_request(event, hosts=self.hosts)


def build_parts(
    environ: Mapping[str, str], clock: Clock, parameters: ParameterReader, *, warm: bool
) -> CompletionParts:
    """Return the parts; with `warm` the model that is wanted is imported and connected at once.

    Raises:
        ValueError: a setting that is wrong, by name.
    """
    settings = StructuredCompletionSettings.from_env(environ)
    switch = ParameterSwitchAdapter(
        parameters,
        metrics=LateMetrics(settings.equerry_stage),
        stated=settings.structured_completions_enabled,
        name=settings.structured_completions_enabled_ssm_parameter,
        prefix=settings.assistant_off_ssm_prefix,
    )
    profiles = parse_profiles(settings.structured_completion_profiles or "")
    source = ProfileSource(environ=environ, parameters=parameters)
    parameters.preload(
        (
            *switch.list_parameters(),
            *list_gateway_parameters(settings),
            *source.list_parameters(profiles.values()),
        )
    )
    gateway = build_gateway(
        settings,
        cast("AwsClients", LateClients()),
        clock,
        parameters=parameters,
        store=ProcessProviderHealthAdapter(),
        switch=switch,
        warm=PURPOSE if warm else None,
    )
    models = CompletionModels(
        gateway=gateway,
        table=build_table(settings),
        profiles=profiles,
        source=source,
        has_key=partial(_has_key, settings),
        warn=_warn,
    )
    service = CompletionService(
        choose=models.choose,
        switch=switch,
        clock=clock,
        max_output_tokens=settings.structured_completion_max_output_tokens,
        longest_s=settings.structured_completion_deadline_milliseconds / 1000,
    )
    hosts = (settings.structured_completion_document_hosts or "").split(",")
    return CompletionParts(service=service, hosts=frozenset(host.strip() for host in hosts) - {""})


def log_completed(fields: Mapping[str, object]) -> None:
    """Write the one line of a completion."""
    from equerry.runtime.observability import logger

    logger.info("structured_completion", extra=dict(fields))


def log_refused(request: CompletionRequest | None, refusal: CompletionRefused) -> None:
    """Write why there was no answer: its code, and of the request what is no content."""
    from equerry.runtime.observability import logger

    known = {"requestId": request.request_id, "workload": request.workload} if request else {}
    fields = {**known, "status": refusal.status, "code": refusal.code}
    logger.warning("structured_completion_refused", extra=fields)


def refuse_bug(bug: Exception) -> CompletionRefused:
    """Log an unforeseen failure by where it happened: its message may hold anything."""
    import traceback

    from equerry.runtime.observability import logger

    frames = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(bug.__traceback__)]
    logger.error("structured_completion_failed", extra={"failure": type(bug).__name__, "frames": frames[-8:]})
    return CompletionRefused("completion_failed", "something went wrong on our side")


def _warn(event: str) -> None:
    from equerry.runtime.observability import logger

    logger.warning(event)


def _has_key(settings: StructuredCompletionSettings, provider: str) -> bool:
    if provider in ("bedrock", "fixture"):
        return True
    own = settings.model_secret_arn if provider == settings.model_provider else None
    named = (entry.partition("=")[0].strip() for entry in (settings.model_secrets or "").split(","))
    return bool(own) or provider in named

"""The process's one reader of parameters, and what is read through it."""

import logging
from functools import cache

from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.parameters import Parameter, ParameterReader
from equerry.adapters.aws.switches import ParameterSwitchAdapter
from equerry.domain.limits import TurnLimits, resolve_limits
from equerry.ports.metrics import MetricPort
from equerry.runtime.clock import SystemClock
from equerry.runtime.settings import LimitSettings, ParameterSettings

logger = logging.getLogger(__name__)

_AT_START_S = float("inf")
"""Of what is read once: a change takes effect when a process starts."""


@cache
def open_parameters() -> ParameterReader:
    """Return the reader that everything in this process shares."""
    return ParameterReader(AwsClients().ssm, SystemClock())


def build_switch(
    settings: ParameterSettings, parameters: ParameterReader, metrics: MetricPort
) -> ParameterSwitchAdapter:
    """Return the operator's switches."""
    return ParameterSwitchAdapter(
        parameters,
        metrics=metrics,
        stated=settings.assistant_enabled,
        name=settings.assistant_enabled_ssm_parameter,
        prefix=settings.assistant_off_ssm_prefix,
        kept_s=settings.assistant_enabled_kept_s,
    )


def list_parameters(settings: ParameterSettings, switch: ParameterSwitchAdapter) -> tuple[Parameter, ...]:
    """Return everything a function asks SSM for, which it reads before its first request: one call."""
    return (*switch.list_parameters(), *_list_limit_parameters(settings))


def build_limits(settings: LimitSettings, parameters: ParameterReader) -> TurnLimits:
    """Return the limits this process has for as long as it lives.

    Raises:
        ValueError: the environment states something that is no limit.
    """
    override = next((parameters.find_text(named) for named in _list_limit_parameters(settings)), None)
    resolved = resolve_limits(settings.stated_limits, override)
    for reason in resolved.refused:
        logger.warning("limit_override_refused", extra={"reason": reason})
    return resolved.limits


def _list_limit_parameters(settings: ParameterSettings) -> tuple[Parameter, ...]:
    name = settings.turn_limits_ssm_parameter
    return (Parameter(name=name, kept_s=_AT_START_S),) if name else ()

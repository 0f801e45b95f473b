"""The process's one reader of parameters, and the switches read through it."""

from functools import cache
from typing import Protocol

from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.parameters import ParameterReader, ParameterSwitchAdapter
from equerry.runtime.clock import SystemClock


class SwitchSettings(Protocol):
    """Where a function finds its switch."""

    @property
    def assistant_enabled(self) -> str | None: ...
    @property
    def assistant_enabled_ssm_parameter(self) -> str | None: ...
    @property
    def assistant_enabled_kept_s(self) -> float: ...


@cache
def open_parameters() -> ParameterReader:
    """Return the reader that everything in this process shares."""
    return ParameterReader(AwsClients().ssm, SystemClock())


def build_switch(settings: SwitchSettings, parameters: ParameterReader) -> ParameterSwitchAdapter:
    """Return the switch that stops new turns."""
    return ParameterSwitchAdapter(
        parameters,
        stated=settings.assistant_enabled,
        name=settings.assistant_enabled_ssm_parameter,
        kept_s=settings.assistant_enabled_kept_s,
    )

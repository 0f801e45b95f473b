"""SwitchPort over Systems Manager: one parameter a level, all of them in one call."""

import logging
import threading
from typing import get_args

from equerry.adapters.aws.parameters import Parameter, ParameterReader, Reading
from equerry.domain.switches import SWITCH_KEPT_S, NamedLevel, Switches, read_names, read_switch
from equerry.ports.metrics import MetricPort

logger = logging.getLogger(__name__)

LEVELS: tuple[NamedLevel, ...] = get_args(NamedLevel)


class ParameterSwitchAdapter:
    """SwitchPort: what the environment states, else the parameters, else on.

    Args:
        stated: the platform's switch, from the environment; it goes before the parameter.
        name: the platform's parameter, `true` or `false`.
        prefix: below it are the other levels: `<prefix>/tool` holds the names of tools that are off, with
            commas between them, or `-`.
        metrics: hears of a setting that says nothing, as long as it is there.
    """

    def __init__(
        self,
        parameters: ParameterReader,
        *,
        metrics: MetricPort,
        stated: str | None = None,
        name: str | None = None,
        prefix: str | None = None,
        kept_s: float = SWITCH_KEPT_S,
    ) -> None:
        self._parameters = parameters
        self._metrics = metrics
        self._stated = stated
        self._platform = Parameter(name=name, kept_s=kept_s) if name and not stated else None
        levels = LEVELS if prefix else ()
        self._levels = {Parameter(name=f"{prefix}/{level}", kept_s=kept_s): level for level in levels}
        self._is_on = read_switch(stated) is not False
        self._off: dict[NamedLevel, frozenset[str]] = dict.fromkeys(LEVELS, frozenset())
        self._heard: dict[Parameter, Reading] = {}
        self._lock = threading.Lock()

    def list_parameters(self) -> tuple[Parameter, ...]:
        """Return what is to be read before the first request."""
        return (*((self._platform,) if self._platform else ()), *self._levels)

    def read(self) -> Switches:
        """Keep SwitchPort's promise."""
        wanted = self.list_parameters()
        readings = self._parameters.list_readings(wanted)
        with self._lock:
            for parameter, reading in zip(wanted, readings, strict=True):
                if self._heard.get(parameter) is not reading:
                    self._heard[parameter] = reading
                    self._hear(parameter, reading.text)
            return Switches(
                platform=self._is_on,
                tenants=self._off["tenant"],
                surfaces=self._off["surface"],
                packs=self._off["pack"],
                tools=self._off["tool"],
                models=self._off["model"],
            )

    def is_on(self) -> bool:
        """Keep SwitchPort's promise."""
        return self.read().platform

    def _hear(self, parameter: Parameter, text: str | None) -> None:
        """Take a new reading in; one without a text changes nothing."""
        if text is None:
            return
        if parameter in self._levels:
            self._hear_level(self._levels[parameter], parameter, text)
        elif (said := read_switch(text)) is not None:
            self._is_on = said
        else:
            self._complain(parameter, text)

    def _hear_level(self, level: NamedLevel, parameter: Parameter, text: str) -> None:
        off = read_names(text)
        # What cannot be read may be the name of something that is off: until it can, nothing is turned on.
        self._off[level] = off.names | (self._off[level] if off.malformed else frozenset())
        if off.malformed:
            self._complain(parameter, *off.malformed)

    def _complain(self, parameter: Parameter, *entries: str) -> None:
        logger.warning("switch_unparseable", extra={"parameter": parameter.name, "entries": entries})
        self._metrics.record({"SwitchUnparseable": 1})

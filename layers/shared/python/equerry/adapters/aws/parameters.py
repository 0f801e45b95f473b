"""Parameters of Systems Manager, and the switch that is one of them."""

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from equerry.domain.switches import SWITCH_KEPT_S, read_switch
from equerry.kernel.clock import Clock
from equerry.kernel.kinds import record, value

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

logger = logging.getLogger(__name__)

RETRY_S = 5
"""A read that failed is not tried again sooner, so that an outage of SSM does not slow every turn."""
_BATCH = 10


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """How a parameter is read; two reads share what is kept only if all three match."""

    name: str
    decrypted: bool = False
    kept_s: float


@record
@dataclass(frozen=True, slots=True)
class Reading:
    """What SSM last said, None if nothing yet; `since` and `since_s` are when it was last asked."""

    text: str | None
    since: datetime
    since_s: float
    failed: bool = False


class ParameterReader:
    """The one way to SSM in a process: shared by threads; never raises for an unreadable parameter.

    A value older than `kept_s` is read anew before it is used. Age is the longer of two clocks', because a
    container that was frozen may have lost count of one of them.
    """

    def __init__(self, client: "SSMClient", clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._known: dict[Parameter, Reading] = {}
        self._lock = threading.Lock()

    def preload(self, parameters: Iterable[Parameter]) -> None:
        """Read parameters before the first request, ten at a call; those that fail are read when used."""
        wanted = iter(parameters)
        while batch := tuple(islice(wanted, _BATCH)):
            for decrypted in sorted({parameter.decrypted for parameter in batch}):
                self._load([p for p in batch if p.decrypted == decrypted], decrypted=decrypted)

    def find_text(self, parameter: Parameter) -> str | None:
        """Return a parameter's value, or the last known one if SSM does not answer; None if there is none."""
        with self._lock:
            known = self._known.get(parameter)
            if known is None or self._is_old(parameter, known):
                known = self._refresh(parameter, known)
            return known.text

    def _refresh(self, parameter: Parameter, known: Reading | None) -> Reading:
        text, failed = known.text if known else None, False
        try:
            answer = self._client.get_parameter(Name=parameter.name, WithDecryption=parameter.decrypted)
            text = answer["Parameter"].get("Value")
        except (ClientError, BotoCoreError) as error:
            failed = True
            logger.warning(
                "parameter_unreadable", extra={"parameter": parameter.name, "failure": type(error).__name__}
            )
        return self._keep(parameter, text, failed=failed)

    def _load(self, batch: list[Parameter], *, decrypted: bool) -> None:
        try:
            answer = self._client.get_parameters(Names=[p.name for p in batch], WithDecryption=decrypted)
        except (ClientError, BotoCoreError) as error:
            logger.warning("parameters_unreadable", extra={"failure": type(error).__name__})
            return
        found = {entry.get("Name"): entry.get("Value") for entry in answer["Parameters"]}
        with self._lock:
            for parameter in batch:
                if parameter.name in found:
                    self._keep(parameter, found[parameter.name], failed=False)

    def _keep(self, parameter: Parameter, text: str | None, *, failed: bool) -> Reading:
        reading = Reading(text, self._clock.now(), self._clock.monotonic_s(), failed)
        self._known[parameter] = reading
        return reading

    def _is_old(self, parameter: Parameter, known: Reading) -> bool:
        passed = self._clock.now() - known.since
        age_s = max(passed / timedelta(seconds=1), self._clock.monotonic_s() - known.since_s)
        return passed < timedelta(0) or age_s >= (
            min(RETRY_S, parameter.kept_s) if known.failed else parameter.kept_s
        )


class ParameterSwitchAdapter:
    """SwitchPort: what the environment states, else the parameter of that name, else on."""

    def __init__(
        self,
        parameters: ParameterReader,
        *,
        stated: str | None = None,
        name: str | None = None,
        kept_s: float = SWITCH_KEPT_S,
    ) -> None:
        self._parameters = parameters
        self._stated = stated
        self._parameter = Parameter(name=name, kept_s=kept_s) if name else None
        self._off = False

    def list_parameters(self) -> tuple[Parameter, ...]:
        """Return what is to be read before the first request."""
        return (self._parameter,) if self._parameter and not self._stated else ()

    def is_on(self) -> bool:
        """Keep SwitchPort's promise."""
        if self._stated:
            return read_switch(self._stated) is not False
        if self._parameter is None:
            return True
        said = read_switch(self._parameters.find_text(self._parameter))
        if said is not None:
            self._off = not said
        return not self._off

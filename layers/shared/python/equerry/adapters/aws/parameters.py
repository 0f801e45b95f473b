"""Parameters of Systems Manager."""

import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from equerry.kernel.clock import Clock
from equerry.kernel.kinds import record, value

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

    from equerry.adapters.aws.signed_ssm import SignedSsm

logger = logging.getLogger(__name__)

RETRY_S = 5
"""A read that failed is not tried again sooner, so that an outage of SSM does not slow every turn."""
_BATCH = 10
"""As many as one call may name."""


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

    def __init__(self, client: "SSMClient | SignedSsm", clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._failures = getattr(client, "failures", None) or _list_botocore_failures()
        self._known: dict[Parameter, Reading] = {}
        self._lock = threading.Lock()

    def preload(self, parameters: Iterable[Parameter]) -> None:
        """Read parameters before the first request, ten at a call; those that fail are read when used."""
        with self._lock:
            for batch in _batch(parameters):
                self._load(batch)
                for parameter in batch:
                    if self._known[parameter].failed:
                        del self._known[parameter]

    def list_readings(self, parameters: Sequence[Parameter]) -> tuple[Reading, ...]:
        """Return what is known of each, in order; those too old to be used are read first, ten at a call.

        A reading is the same object until SSM is asked again; one that failed holds the last known text.
        """
        with self._lock:
            old = [parameter for parameter in parameters if self._is_old(parameter)]
            for batch in _batch(old):
                self._load(batch)
            return tuple(self._known[parameter] for parameter in parameters)

    def find_text(self, parameter: Parameter) -> str | None:
        """Return a parameter's value, or the last known one if SSM does not answer; None if there is none."""
        (reading,) = self.list_readings([parameter])
        return reading.text

    def _load(self, batch: Sequence[Parameter]) -> None:
        """Ask once for parameters that are read in the same way, and keep what came of it."""
        found = self._ask(batch)
        for parameter in batch:
            known = self._known.get(parameter)
            text = known.text if found is None and known else (found or {}).get(parameter.name)
            self._known[parameter] = Reading(
                text, self._clock.now(), self._clock.monotonic_s(), failed=found is None
            )

    def _ask(self, batch: Sequence[Parameter]) -> dict[str | None, str | None] | None:
        """Return values by name, without those that do not exist; None if SSM did not answer."""
        names = list(dict.fromkeys(parameter.name for parameter in batch))
        try:
            answer = self._client.get_parameters(Names=names, WithDecryption=batch[0].decrypted)
        except self._failures as error:
            logger.warning(
                "parameter_unreadable", extra={"parameters": names, "failure": type(error).__name__}
            )
            return None
        return {entry.get("Name"): entry.get("Value") for entry in answer["Parameters"]}

    def _is_old(self, parameter: Parameter) -> bool:
        known = self._known.get(parameter)
        if known is None:
            return True
        passed = self._clock.now() - known.since
        age_s = max(passed / timedelta(seconds=1), self._clock.monotonic_s() - known.since_s)
        return passed < timedelta(0) or age_s >= (
            min(RETRY_S, parameter.kept_s) if known.failed else parameter.kept_s
        )


def _list_botocore_failures() -> tuple[type[Exception], ...]:
    # Here and not above: the function that streams must begin before an SDK is imported.
    from botocore.exceptions import BotoCoreError, ClientError

    return (ClientError, BotoCoreError)


def _batch(parameters: Iterable[Parameter]) -> Iterator[list[Parameter]]:
    """Yield them ten at a time, encrypted ones apart."""
    distinct = dict.fromkeys(parameters)
    for decrypted in (False, True):
        wanted = (parameter for parameter in distinct if parameter.decrypted == decrypted)
        while batch := list(islice(wanted, _BATCH)):
            yield batch

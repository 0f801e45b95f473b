"""Secrets, kept for a while."""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from equerry.adapters.aws.errors import aws_errors
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

logger = logging.getLogger(__name__)

_RETRY_S = 5


def _start_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


class SecretsReader:
    """Reads secrets and keeps each for `kept_s`, so that a rotated one is picked up by itself.

    An older one is still served while it is read anew behind whoever asked: nobody waits for Secrets Manager
    twice, and an outage of it does not stop what already runs.
    """

    def __init__(
        self,
        client: "SecretsManagerClient",
        clock: Clock,
        *,
        kept_s: float = 300,
        behind: Callable[[Callable[[], None]], None] = _start_thread,
    ) -> None:
        self._client = client
        self._clock = clock
        self._kept_s = kept_s
        self._behind = behind
        self._read: dict[str, tuple[float, str]] = {}
        self._lock = threading.Lock()

    def fetch_secret(self, arn: str) -> str:
        """Return a secret's text; one that is old may be a moment behind a rotation.

        Raises:
            Unavailable: Secrets Manager does not answer, and never did.
        """
        with self._lock:
            known = self._read.get(arn)
            if known is None:
                return self._load(arn)
            read_s, text = known
            is_old = self._clock.monotonic_s() - read_s >= self._kept_s
            if is_old:  # counts as read: whoever asks meanwhile must not start another refresh
                self._read[arn] = (self._clock.monotonic_s(), text)
        if is_old:
            self._behind(lambda: self._refresh(arn))
        return text

    def _load(self, arn: str) -> str:
        with aws_errors(f"read secret {arn}"):
            text = self._client.get_secret_value(SecretId=arn)["SecretString"]
        self._read[arn] = (self._clock.monotonic_s(), text)
        return text

    def _refresh(self, arn: str) -> None:
        try:
            self._load(arn)
        except (EquerryError, ClientError, BotoCoreError) as failure:
            logger.warning("secret_not_refreshed", extra={"failure": type(failure).__name__})
            with self._lock:
                soon_s = self._clock.monotonic_s() - self._kept_s + _RETRY_S
                self._read[arn] = (soon_s, self._read[arn][1])

"""Secrets, kept for a while."""

import threading
from typing import TYPE_CHECKING

from equerry.adapters.aws.errors import aws_errors
from equerry.kernel.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


class SecretsReader:
    """Reads secrets and keeps each for `kept_s`, so that a rotated one is picked up by itself."""

    def __init__(self, client: "SecretsManagerClient", clock: Clock, *, kept_s: float = 300) -> None:
        self._client = client
        self._clock = clock
        self._kept_s = kept_s
        self._read: dict[str, tuple[float, str]] = {}
        self._lock = threading.Lock()

    def fetch_secret(self, arn: str) -> str:
        """Return a secret's text.

        Raises:
            Unavailable: Secrets Manager does not answer.
        """
        with self._lock:
            now_s = self._clock.monotonic_s()
            read_s, text = self._read.get(arn, (float("-inf"), ""))
            if now_s - read_s >= self._kept_s:
                with aws_errors(f"read secret {arn}"):
                    text = self._client.get_secret_value(SecretId=arn)["SecretString"]
                self._read[arn] = (now_s, text)
            return text

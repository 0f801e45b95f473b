"""Secrets, and the database address made of one."""

import ipaddress
import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from equerry.adapters.aws.errors import aws_errors
from equerry.kernel.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


class SecretsManagerAdapter:
    """Reads JSON secrets and keeps each for `kept_s`, so that a rotated one is picked up by itself."""

    def __init__(self, client: "SecretsManagerClient", clock: Clock, *, kept_s: float = 300) -> None:
        self._client = client
        self._clock = clock
        self._kept_s = kept_s
        self._read: dict[str, tuple[float, Mapping[str, str]]] = {}
        self._lock = threading.Lock()

    def fetch_secret(self, arn: str) -> Mapping[str, str]:
        """Return a secret's fields; numbers come as text.

        Raises:
            Unavailable: Secrets Manager does not answer.
            ValueError: the secret is not a JSON object.
        """
        with self._lock:
            now = self._clock.monotonic_s()
            read_s, fields = self._read.get(arn, (float("-inf"), {}))
            if now - read_s >= self._kept_s:
                fields = self._fetch(arn)
                self._read[arn] = (now, fields)
            return fields

    def _fetch(self, arn: str) -> Mapping[str, str]:
        with aws_errors(f"read secret {arn}"):
            answer = self._client.get_secret_value(SecretId=arn)
        try:
            fields = json.loads(answer["SecretString"])
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            raise ValueError(f"secret {arn} is not a JSON object") from None
        return {name: str(entry) for name, entry in fields.items()}


def database_url(secret: Mapping[str, str]) -> str:
    """Return the PostgreSQL address of a secret with host, port, dbname, username and password.

    The connection is encrypted unless the host is this machine. The address holds the password: never log it.

    Raises:
        KeyError: the secret lacks one of the five.
    """
    host = secret["host"]
    address = f"[{host}]" if ":" in host else host
    user, password, name = (quote(secret[field], safe="") for field in ("username", "password", "dbname"))
    security = "" if _is_loopback(host) else "?sslmode=require"
    return f"postgresql://{user}:{password}@{address}:{secret['port']}/{name}{security}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

"""Parameters of Systems Manager by the standard library alone.

An SDK takes hundreds of milliseconds to import and to make a client, and a streaming caller waits for its
first frame that long. This asks one question, `GetParameters`, as the SDK would.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlsplit

_TARGET = "AmazonSSM.GetParameters"
_CONTENT_TYPE = "application/x-amz-json-1.1"
_TIMEOUT_S = 2.0
_ATTEMPTS = 2


class SsmRefused(Exception):
    """Systems Manager answered with an error, or not at all; the message names a status or a type alone."""


class SignedSsm:
    """Stands in for botocore's client where parameters are read.

    Attributes:
        failures: what `get_parameters` raises when SSM does not answer.
    """

    failures: tuple[type[Exception], ...] = (SsmRefused,)

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION", "us-east-1")
        self._address = _find_address(environ, self._region)

    def get_parameters(
        self,
        *,
        Names: list[str],  # noqa: N803  # botocore's name
        WithDecryption: bool = False,  # noqa: N803  # botocore's name
    ) -> Any:
        """Return what the API answers.

        Raises:
            SsmRefused: it did not.
        """
        body = json.dumps({"Names": Names, "WithDecryption": WithDecryption}).encode()
        for left in reversed(range(_ATTEMPTS)):
            try:
                return self._send(body)
            except (OSError, HTTPException, ValueError) as error:
                if not left:
                    raise SsmRefused(type(error).__name__) from None
        raise SsmRefused

    def _send(self, body: bytes) -> Any:
        plain = self._address.scheme == "http"
        connect = HTTPConnection if plain else HTTPSConnection
        connection = connect(self._address.netloc, timeout=_TIMEOUT_S)
        try:
            connection.request("POST", "/", body, self._sign(body))
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 500:
            raise OSError(f"status {answer.status}")
        if answer.status != 200:
            raise SsmRefused(f"status {answer.status}")
        return json.loads(content)

    def _sign(self, body: bytes) -> dict[str, str]:
        """Return the headers, signed as AWS Signature Version 4 has it."""
        at = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        signed = {
            "content-type": _CONTENT_TYPE,
            "host": self._address.netloc,
            "x-amz-date": at,
            "x-amz-target": _TARGET,
        }
        # They last as long as the environment that Lambda starts a function in.
        if token := self._environ.get("AWS_SESSION_TOKEN"):
            signed["x-amz-security-token"] = token
        names = ";".join(sorted(signed))
        lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
        request = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
        scope = f"{at[:8]}/{self._region}/ssm/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = f"AWS4{self._environ.get('AWS_SECRET_ACCESS_KEY', '')}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        credential = f"{self._environ.get('AWS_ACCESS_KEY_ID', '')}/{scope}"
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        authorization = (
            f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
        )
        return {**signed, "authorization": authorization}


def _find_address(environ: Mapping[str, str], region: str) -> SplitResult:
    given = environ.get("AWS_ENDPOINT_URL_SSM") or environ.get("AWS_ENDPOINT_URL")
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return urlsplit(given or f"https://ssm.{region}.{suffix}")

"""Tokens of this service, minted by the product's own function."""

import json
from contextlib import closing
from typing import TYPE_CHECKING

from equerry.adapters.aws.errors import aws_errors
from equerry.kernel.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

PURPOSE = "assistant-offboarding"


class LambdaServiceTokenAdapter:
    """ServiceTokenPort over a function that answers `{"token": "..."}`."""

    def __init__(self, client: "LambdaClient", function_arn: str) -> None:
        self._client = client
        self._function_arn = function_arn

    def fetch_token(self) -> str:
        """Keep ServiceTokenPort's promise."""
        with aws_errors("mint a service token"):
            answer = self._client.invoke(
                FunctionName=self._function_arn, Payload=json.dumps({"purpose": PURPOSE}).encode()
            )
            with closing(answer["Payload"]) as payload:
                body = payload.read()
        token = _read_token(body)
        if answer.get("FunctionError") or not token:
            raise Unavailable("the product did not mint a service token")  # its answer may hold one
        return token


def _read_token(body: bytes) -> str:
    try:
        token = json.loads(body)["token"]
    except (ValueError, TypeError, KeyError):
        return ""
    return token if isinstance(token, str) else ""

"""How the tools on this machine speak to the emulator, and to nothing else."""

import os
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from local.places import ACCOUNT, REGION, Places

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_ssm import SSMClient

CREDENTIAL = "test"
INHERITED = ("PATH", "HOME", "TMPDIR", "LANG", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
PACKAGE_TOOLS = ("PIP_", "UV_", "NPM_", "npm_")


def build_environment(places: Places) -> dict[str, str]:
    """Return the environment of a command-line tool that works on the emulator.

    Nothing of the developer's own AWS set-up is in it. Package registries are: synth installs wheels.
    """
    kept = {
        name: text
        for name, text in os.environ.items()
        if name.upper() in INHERITED or name.startswith(PACKAGE_TOOLS)
    }
    pointed = {
        "AWS_ENDPOINT_URL": places.aws_url,
        "AWS_ACCESS_KEY_ID": CREDENTIAL,
        "AWS_SECRET_ACCESS_KEY": CREDENTIAL,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DEFAULT_ACCOUNT": ACCOUNT,
        "CDK_DEFAULT_REGION": REGION,
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CI": "1",
    }
    if places.enforce_iam:
        pointed |= {"AWS_CA_BUNDLE": str(places.certificate), "NODE_EXTRA_CA_CERTS": str(places.certificate)}
    return kept | pointed


class Session:
    """AWS clients that can reach the emulator only: address and credentials are given, never looked up."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._session = boto3.Session(CREDENTIAL, CREDENTIAL, region_name=REGION)
        self._config = Config(
            retries={"max_attempts": 2}, connect_timeout=5, proxies={}, s3={"addressing_style": "path"}
        )

    @property
    def cloudformation(self) -> "CloudFormationClient":
        """Stacks."""
        return self._session.client("cloudformation", **self._options)

    @property
    def secrets(self) -> "SecretsManagerClient":
        """Secrets."""
        return self._session.client("secretsmanager", **self._options)

    @property
    def dynamodb(self) -> "DynamoDBClient":
        """Tables."""
        return self._session.client("dynamodb", **self._options)

    @property
    def gateway(self) -> Any:
        """HTTP and WebSocket APIs; their stubs are not installed."""
        return self._session.client("apigatewayv2", **self._options)

    @property
    def functions(self) -> "LambdaClient":
        """Functions."""
        return self._session.client("lambda", **self._options)

    def patient_functions(self, read_timeout_s: int) -> "LambdaClient":
        """Functions that may take long, called once and never again by the client itself."""
        patient = Config(read_timeout=read_timeout_s, retries={"total_max_attempts": 1})
        return self._session.client("lambda", **self._options | {"config": self._config.merge(patient)})

    @property
    def ssm(self) -> "SSMClient":
        """Parameters."""
        return self._session.client("ssm", **self._options)

    @property
    def s3(self) -> "S3Client":
        """Buckets."""
        return self._session.client("s3", **self._options)

    @property
    def _options(self) -> Any:
        trust = str(self._places.certificate) if self._places.enforce_iam else False
        return {"endpoint_url": self._places.aws_url, "verify": trust, "config": self._config}

"""AWS clients: short time-outs, few attempts, each made on first use."""

import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.session import Session, get_session

if TYPE_CHECKING:
    from mypy_boto3_apigatewaymanagementapi import ApiGatewayManagementApiClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_ssm import SSMClient


class AwsClients:
    """One client a service, shared by threads; AWS_ENDPOINT_URL and the region come from the environment.

    Making a client costs tens of milliseconds of a cold start, so a function pays only for those it uses.
    They are botocore's own, which are the ones boto3 hands out: importing boto3 as well costs as much again.
    """

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    @property
    def dynamodb(self) -> "DynamoDBClient":
        """Leases, connections, the replay log, flags."""
        client: DynamoDBClient = self._keep("dynamodb", "dynamodb", config=_config())
        return client

    @property
    def sqs(self) -> "SQSClient":
        """The queue of turns."""
        client: SQSClient = self._keep("sqs", "sqs", config=_config())
        return client

    @property
    def functions(self) -> "LambdaClient":
        """Other services' functions."""
        client: LambdaClient = self._keep("lambda", "lambda", config=_config(read_timeout_s=10))
        return client

    @property
    def secrets(self) -> "SecretsManagerClient":
        """Database passwords and provider keys."""
        client: SecretsManagerClient = self._keep("secretsmanager", "secretsmanager", config=_config())
        return client

    @property
    def ssm(self) -> "SSMClient":
        """Switches; a turn waits for it, so it gives up early."""
        client: SSMClient = self._keep("ssm", "ssm", config=_config(read_timeout_s=2, attempts=2))
        return client

    @property
    def s3(self) -> "S3Client":
        """Staged documents, addressed and signed so that a browser may use the address."""
        client: S3Client = self._keep("s3", "s3", config=_config().merge(_SIGNED))
        return client

    def push(self, endpoint_url: str) -> "ApiGatewayManagementApiClient":
        """Return the client of one WebSocket stage; `endpoint_url` is its management address."""
        config = _config(read_timeout_s=3)
        client: ApiGatewayManagementApiClient = self._keep(
            endpoint_url, "apigatewaymanagementapi", endpoint_url=endpoint_url, config=config
        )
        return client

    def _keep(self, name: str, service: str, **options: Any) -> Any:
        with _making:
            if name not in self._made:
                self._made[name] = _open_session().create_client(service, **options)
            return self._made[name]


_making = threading.Lock()
"""A session makes one client at a time."""


@cache
def _open_session() -> Session:
    """Return the process's one session: a second one reads what AWS offers where all over again."""
    return get_session()


def _config(*, read_timeout_s: float = 5, attempts: int = 3) -> Config:
    return Config(
        connect_timeout=2,
        read_timeout=read_timeout_s,
        retries={"mode": "standard", "total_max_attempts": attempts},
        tcp_keepalive=True,
    )


_SIGNED = Config(
    signature_version="s3v4",
    # It would otherwise sign a checksum of its own choice, which no uploader could match, ...
    request_checksum_calculation="when_required",
    # ... and name the bucket's global address, which redirects until the bucket is a day old.
    s3={"addressing_style": "virtual"},
)

"""The push to one socket, through API Gateway."""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from equerry.adapters.aws.errors import aws_errors, error_code
from equerry.kernel.identifiers import ConnectionId
from equerry.ports.delivery import MAX_FRAME_BYTES, ConnectionGone

if TYPE_CHECKING:
    from mypy_boto3_apigatewaymanagementapi import ApiGatewayManagementApiClient


class ApiGatewayChannelAdapter:
    """ChannelPort over one WebSocket stage's management endpoint."""

    def __init__(self, client: "ApiGatewayManagementApiClient") -> None:
        self._client = client

    def send(self, connection_id: ConnectionId, frame: str) -> None:
        """Keep ChannelPort's promise.

        Raises:
            ConnectionGone: see the port; also for an id that API Gateway never gave out.
            ValueError: the frame is larger than 128 KiB.
        """
        data = frame.encode()
        if len(data) > MAX_FRAME_BYTES:
            raise ValueError(f"a frame may have {MAX_FRAME_BYTES} bytes, got {len(data)}")
        try:
            with aws_errors(f"send to connection {connection_id}"):
                self._client.post_to_connection(ConnectionId=connection_id, Data=data)
        except ClientError as error:
            if _is_gone(error):
                raise ConnectionGone(f"connection {connection_id} is not open") from error
            raise


def _is_gone(error: ClientError) -> bool:
    if error_code(error) == "GoneException" or error.response["ResponseMetadata"]["HTTPStatusCode"] == 410:
        return True
    return (
        error_code(error) == "BadRequestException"
        and "invalid connectionid" in error.response["Error"].get("Message", "").lower()
    )

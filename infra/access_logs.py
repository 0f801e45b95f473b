"""What the two APIs log of a request: never a query string, for that is where a socket's ticket stands."""

import json

import jsii
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as apigw
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.config import StageConfig
from infra.log_groups import expiring_log_group


@jsii.implements(apigw.IAccessLogSettings)
class AccessLogs:
    """Settings of a stage's access log; `route` is the context variable that names what was asked for."""

    def __init__(self, scope: Construct, *, key: kms.IKey, config: StageConfig, route: str) -> None:
        fields = {
            "requestId": "$context.requestId",
            "time": "$context.requestTimeEpoch",
            "route": route,
            "status": "$context.status",
            "latencyMs": "$context.integrationLatency",
            "error": "$context.error.message",
            "ip": "$context.identity.sourceIp",
        }
        self._group = expiring_log_group(scope, "AccessLogs", key=key, config=config)
        self._format = json.dumps(fields)

    @property
    def destination(self) -> apigw.IAccessLogDestination:
        """The log group."""
        return apigw.LogGroupLogDestination(self._group)

    @property
    def format(self) -> apigateway.AccessLogFormat:
        """One JSON object a request."""
        return apigateway.AccessLogFormat.custom(self._format)

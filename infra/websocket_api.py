"""The WebSocket API: where answers come out."""

from aws_cdk import Stack
from aws_cdk import aws_apigatewayv2 as apigw
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.access_logs import AccessLogs
from infra.config import StageConfig
from infra.nag import acknowledge, grant_below

_STAGE = "live"


class WebSocketApi(Construct):
    """A socket opens with a one-use ticket; `endpoint` is where functions post to it."""

    def __init__(self, scope: Construct, id: str, *, key: kms.IKey, config: StageConfig) -> None:
        super().__init__(scope, id)
        self.api = apigw.WebSocketApi(self, "Api", route_selection_expression="$request.body.action")
        self.stage = apigw.WebSocketStage(
            self,
            "Stage",
            web_socket_api=self.api,
            stage_name=_STAGE,
            auto_deploy=True,
            access_log_settings=AccessLogs(self, key=key, config=config, route="$context.routeKey"),
            throttle=apigw.ThrottleSettings(
                rate_limit=config.limits.requests_per_second, burst_limit=config.limits.request_burst
            ),
        )
        self.url, self.endpoint = self._addresses(config)

    def serve(self, function: lambda_.IFunction) -> None:
        """Send every frame to `function`."""
        for key, name in (
            ("$connect", "OnConnect"),
            ("$disconnect", "OnDisconnect"),
            ("$default", "OnFrame"),
        ):
            route = self.api.add_route(
                key, integration=integrations.WebSocketLambdaIntegration(name, function)
            )
            acknowledge(
                route,
                "AwsSolutions-APIG4",
                reason="The function redeems a one-use ticket at $connect; later frames ride on that socket",
            )

    def grant_publish(self, grantee: iam.IGrantable) -> None:
        """Post to the sockets of exactly this stage."""
        connections = Stack.of(self).format_arn(
            service="execute-api", resource=self.api.api_id, resource_name=f"{_STAGE}/POST/@connections/*"
        )
        grant_below(
            grantee,
            "execute-api:ManageConnections",
            pattern=connections,
            reason="A socket's id is known only once it is open; the stage and the POST are named",
        )

    def _addresses(self, config: StageConfig) -> tuple[str, str]:
        if not config.local:
            return self.stage.url, self.stage.callback_url
        path = f"/_aws/execute-api/{self.api.api_id}/{_STAGE}"
        endpoint = f"{config.local.endpoint_url}{path}"
        return endpoint.replace("http", "ws", 1), endpoint

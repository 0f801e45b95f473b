"""The HTTP API: one function behind one prefix."""

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigw
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.access_logs import AccessLogs
from infra.config import StageConfig
from infra.nag import acknowledge

PREFIX = "/api/assistant"


class HttpApi(Construct):
    """Every route lives below /api/assistant; the function checks the token."""

    def __init__(self, scope: Construct, id: str, *, key: kms.IKey, config: StageConfig) -> None:
        super().__init__(scope, id)
        self.api = apigw.HttpApi(self, "Api", create_default_stage=False, cors_preflight=_cors(config))
        self.stage = apigw.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            access_log_settings=AccessLogs(self, key=key, config=config, route="$context.path"),
            throttle=apigw.ThrottleSettings(
                rate_limit=config.limits.requests_per_second, burst_limit=config.limits.request_burst
            ),
        )

    def serve(self, function: lambda_.IFunction) -> None:
        """Send every request below the prefix to `function`."""
        routes = self.api.add_routes(
            path=f"{PREFIX}/{{proxy+}}",
            methods=[apigw.HttpMethod.ANY],
            integration=integrations.HttpLambdaIntegration("Function", function),
        )
        for route in routes:
            acknowledge(
                route,
                "AwsSolutions-APIG4",
                reason="API Gateway's JWT authorizers take no EdDSA tokens; the function checks every token",
            )


def _cors(config: StageConfig) -> apigw.CorsPreflightOptions | None:
    if not config.allowed_origins:
        return None
    return apigw.CorsPreflightOptions(
        allow_origins=list(config.allowed_origins),
        allow_methods=[apigw.CorsHttpMethod.GET, apigw.CorsHttpMethod.POST, apigw.CorsHttpMethod.DELETE],
        allow_headers=["authorization", "content-type", "idempotency-key", "last-event-id", "traceparent"],
        expose_headers=["ratelimit", "ratelimit-policy", "retry-after", "x-request-id"],
        max_age=Duration.hours(1),
    )

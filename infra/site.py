"""The chat page on CloudFront, for a product that has no page of its own yet."""

from pathlib import Path

from aws_cdk import Duration, Fn, RemovalPolicy, Stack, Token
from aws_cdk import aws_cloudfront as cloudfront
from aws_cdk import aws_cloudfront_origins as origins
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_deployment as deployment
from constructs import Construct

from infra.config import SiteConfig, StageConfig
from infra.http_api import PREFIX
from infra.log_groups import expiring_log_group
from infra.nag import acknowledge
from infra.reading import ConfigurationRefused


class Site(Construct):
    """A private bucket behind CloudFront; the API answers under the same address, so no CORS is needed."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        site: SiteConfig,
        api_endpoint: str,
        websocket_url: str,
        key: kms.IKey,
        config: StageConfig,
    ) -> None:
        super().__init__(scope, id)
        if not (Path(site.page) / "index.html").is_file():
            raise ConfigurationRefused(
                "site.page", [f"{site.page} holds no index.html; build it first: make client/dist/index.html"]
            )
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        acknowledge(self.bucket, "AwsSolutions-S1", reason="Public page files; CloudFront is the only reader")
        self.distribution = cloudfront.Distribution(
            self,
            "Distribution",
            default_root_object="index.html",
            default_behavior=cloudfront.BehaviorOptions(
                origin=origins.S3BucketOrigin.with_origin_access_control(self.bucket),
                viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.REDIRECT_TO_HTTPS,
                response_headers_policy=self._headers(site, websocket_url=websocket_url),
            ),
            additional_behaviors={f"{PREFIX}/*": _api(api_endpoint)},
        )
        self._acknowledge()
        self.url = f"https://{self.distribution.distribution_domain_name}"
        self._publish(site, expiring_log_group(self, "PublishLogs", key=key, config=config))

    def _publish(self, site: SiteConfig, log_group: logs.LogGroup) -> None:
        deployment.BucketDeployment(
            self,
            "Page",
            destination_bucket=self.bucket,
            distribution=self.distribution,
            log_group=log_group,
            sources=[
                deployment.Source.asset(site.page),
                deployment.Source.json_data("config.json", {"apiUrl": PREFIX, "tokenUrl": site.token_url}),
            ],
        )
        copier = next(child for child in Stack.of(self).node.children if "BucketDeployment" in child.node.id)
        stack = Stack.of(self)
        account = "<AWS::AccountId>" if Token.is_unresolved(stack.account) else stack.account
        assets = f"arn:aws:s3:::cdk-hnb659fds-assets-{account}-{stack.region}/*"
        for finding in (
            *("Action::s3:GetBucket*", "Action::s3:GetObject*", "Action::s3:List*", "Action::s3:Abort*"),
            *("Action::s3:DeleteObject*", f"Resource::{assets}", "Resource::*"),
            f"Resource::<{stack.get_logical_id(self._resource())}.Arn>/*",
        ):
            acknowledge(
                copier,
                f"AwsSolutions-IAM5[{finding}]",
                reason="CDK's own copier, from its assets to the page's bucket",
            )
        acknowledge(
            copier,
            "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]",
            reason="CDK's own copier",
        )
        acknowledge(copier, "AwsSolutions-L1", reason="CDK chooses its own copier's runtime")

    def _resource(self) -> s3.CfnBucket:
        resource = self.bucket.node.default_child
        assert isinstance(resource, s3.CfnBucket)  # noqa: S101  # what Bucket is made of
        return resource

    def _headers(self, site: SiteConfig, *, websocket_url: str) -> cloudfront.ResponseHeadersPolicy:
        rest = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        csp = f"default-src 'self'; connect-src 'self' {websocket_url} {site.token_url}; {rest}"
        return cloudfront.ResponseHeadersPolicy(
            self,
            "Headers",
            security_headers_behavior=cloudfront.ResponseSecurityHeadersBehavior(
                content_security_policy=cloudfront.ResponseHeadersContentSecurityPolicy(
                    content_security_policy=csp, override=True
                ),
                content_type_options=cloudfront.ResponseHeadersContentTypeOptions(override=True),
                frame_options=cloudfront.ResponseHeadersFrameOptions(
                    frame_option=cloudfront.HeadersFrameOption.DENY, override=True
                ),
                referrer_policy=cloudfront.ResponseHeadersReferrerPolicy(
                    referrer_policy=cloudfront.HeadersReferrerPolicy.NO_REFERRER, override=True
                ),
                strict_transport_security=cloudfront.ResponseHeadersStrictTransportSecurity(
                    access_control_max_age=Duration.days(365), include_subdomains=True, override=True
                ),
            ),
        )

    def _acknowledge(self) -> None:
        for finding, reason in (
            ("AwsSolutions-CFR1", "The page holds nothing regional; the API behind it checks every token"),
            (
                "AwsSolutions-CFR2",
                "A web ACL belongs to the account's own firewall policy; the API is throttled",
            ),
            ("AwsSolutions-CFR3", "Requests that matter are in the API's own access log"),
            (
                "AwsSolutions-CFR4",
                "CloudFront's own certificate allows no newer minimum; a custom domain does",
            ),
        ):
            acknowledge(self.distribution, finding, reason=reason)


def _api(endpoint: str) -> cloudfront.BehaviorOptions:
    # The endpoint is https://NAME; CloudFront wants the name alone.
    name = Fn.select(2, Fn.split("/", endpoint))
    return cloudfront.BehaviorOptions(
        origin=origins.HttpOrigin(name, protocol_policy=cloudfront.OriginProtocolPolicy.HTTPS_ONLY),
        viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
        allowed_methods=cloudfront.AllowedMethods.ALLOW_ALL,
        cache_policy=cloudfront.CachePolicy.CACHING_DISABLED,
        origin_request_policy=cloudfront.OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
    )

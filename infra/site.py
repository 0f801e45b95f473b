"""The chat page on CloudFront, for a product that has no page of its own yet."""

from pathlib import Path

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cloudfront as cloudfront
from aws_cdk import aws_cloudfront_origins as origins
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_deployment as deployment
from constructs import Construct

from infra.config import SiteConfig
from infra.nag import acknowledge
from infra.reading import ConfigurationRefused

_PAGE = Path(__file__).parents[1] / "client" / "dist"


class Site(Construct):
    """A private bucket behind CloudFront, with the page's configuration beside it."""

    def __init__(
        self, scope: Construct, id: str, *, site: SiteConfig, api_url: str, websocket_url: str
    ) -> None:
        super().__init__(scope, id)
        if not (_PAGE / "index.html").is_file():
            raise ConfigurationRefused(
                "site", ["client/dist holds no index.html; build the page first: make client"]
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
        self.distribution = cloudfront.Distribution(
            self,
            "Distribution",
            default_root_object="index.html",
            minimum_protocol_version=cloudfront.SecurityPolicyProtocol.TLS_V1_2_2021,
            default_behavior=cloudfront.BehaviorOptions(
                origin=origins.S3BucketOrigin.with_origin_access_control(self.bucket),
                viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.REDIRECT_TO_HTTPS,
                response_headers_policy=self._headers(site, websocket_url=websocket_url, api_url=api_url),
            ),
        )
        self.url = f"https://{self.distribution.distribution_domain_name}"
        deployment.BucketDeployment(
            self,
            "Page",
            destination_bucket=self.bucket,
            distribution=self.distribution,
            sources=[
                deployment.Source.asset(str(_PAGE)),
                deployment.Source.json_data("config.json", {"apiUrl": api_url, "tokenUrl": site.token_url}),
            ],
        )
        self._acknowledge()

    def _headers(
        self, site: SiteConfig, *, websocket_url: str, api_url: str
    ) -> cloudfront.ResponseHeadersPolicy:
        reachable = f"'self' {api_url} {websocket_url} {site.token_url}"
        rest = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        csp = f"default-src 'self'; connect-src {reachable}; {rest}"
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
        acknowledge(self.bucket, "AwsSolutions-S1", reason="Public page files; CloudFront is the only reader")
        for finding, reason in (
            ("AwsSolutions-CFR1", "The page holds nothing regional; the API behind it checks every token"),
            (
                "AwsSolutions-CFR2",
                "Static files only; a web ACL belongs to the account's own firewall policy",
            ),
            ("AwsSolutions-CFR3", "Static files only; requests that matter are in the API's access log"),
            (
                "AwsSolutions-CFR4",
                "CloudFront's own certificate allows no newer minimum; a custom domain does",
            ),
        ):
            acknowledge(self.distribution, finding, reason=reason)

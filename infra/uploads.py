"""Uploaded documents, and the two queues that tell the indexer what changed."""

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.config import StageConfig
from infra.key import grant_key
from infra.nag import acknowledge, grant_below
from infra.queues import DrainedQueue

INDEXER_TIMEOUT_S = 840
_PREFIX = "corpora/"
_ARTIFACTS = "artifacts/"
_EXPORTS = "exports/"
EXPORT_DAYS = 30
"""Long enough to be fetched; what an organisation left is then gone here too."""


class Uploads(Construct):
    """The bucket; a removal goes to `urgent`, ahead of content, which goes to `content`."""

    def __init__(
        self, scope: Construct, id: str, *, key: kms.IKey, removal: RemovalPolicy, config: StageConfig
    ) -> None:
        super().__init__(scope, id)
        self._key = key
        visibility_s = INDEXER_TIMEOUT_S + 60
        self.urgent = DrainedQueue(self, "Urgent", key=key, visibility_s=visibility_s)
        self.content = DrainedQueue(self, "Content", key=key, visibility_s=visibility_s)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.KMS,
            encryption_key=key,
            bucket_key_enabled=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            lifecycle_rules=_lifecycle(),
            cors=_cors(config),
            removal_policy=removal,
        )
        acknowledge(
            self.bucket,
            "AwsSolutions-S1",
            reason="The HTTP API authorises, names and records every upload; access logs would repeat that",
        )
        self._notify()

    def grant_upload(self, grantee: iam.IGrantable) -> None:
        """Sign uploads, and remove a document's files."""
        self._grant(grantee, "s3:PutObject", "s3:DeleteObject")
        self._grant_list(grantee)
        grant_key(grantee, self._key, "GenerateDataKey", "Decrypt", via="s3")

    def grant_read(self, grantee: iam.IGrantable) -> None:
        """Read what was uploaded; with the right to list, S3 says 404 of what is absent, and 403 without."""
        self._grant(grantee, "s3:GetObject")
        self._grant_list(grantee)
        grant_key(grantee, self._key, "Decrypt", via="s3")

    def grant_artifacts(self, grantee: iam.IGrantable, *, read: bool = False) -> None:
        """Keep what is too large for an envelope; with `read`, give it out."""
        reading = ("s3:GetObject",) if read else ()
        self._grant(grantee, "s3:PutObject", *reading, below=_ARTIFACTS)
        if read:
            self._grant_list(grantee)
        grant_key(grantee, self._key, "GenerateDataKey", "Decrypt", via="s3")

    def grant_sweep(self, grantee: iam.IGrantable) -> None:
        """Delete every version of what is past its time or was somebody's, and keep exports."""
        for prefix in (_PREFIX, _ARTIFACTS):
            self._grant(grantee, "s3:DeleteObject", "s3:DeleteObjectVersion", below=prefix)
        self._grant(grantee, "s3:PutObject", below=_EXPORTS)
        iam.Grant.add_to_principal(
            grantee=grantee, actions=["s3:ListBucketVersions"], resource_arns=[self.bucket.bucket_arn]
        )
        grant_key(grantee, self._key, "GenerateDataKey", "Decrypt", via="s3")

    def _grant(self, grantee: iam.IGrantable, *actions: str, below: str = _PREFIX) -> None:
        grant_below(
            grantee,
            *actions,
            pattern=self.bucket.arn_for_objects(f"{below}*"),
            reason="A document's key names its organisation, an artifact's its owner, which the code checks",
        )

    def _grant_list(self, grantee: iam.IGrantable) -> None:
        # No condition on the prefix: S3 would then answer 403 for an absent object all the same.
        iam.Grant.add_to_principal(
            grantee=grantee, actions=["s3:ListBucket"], resource_arns=[self.bucket.bucket_arn]
        )

    def _notify(self) -> None:
        """Declare it on the bucket: CDK's helper would add a custom resource with rights on every bucket."""
        for queue in (self.urgent.queue, self.content.queue):
            queue.add_to_resource_policy(
                iam.PolicyStatement(
                    principals=[iam.ServicePrincipal("s3.amazonaws.com")],
                    actions=["sqs:SendMessage"],
                    resources=[queue.queue_arn],
                    conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
                )
            )
        resource = self.bucket.node.default_child
        assert isinstance(resource, s3.CfnBucket)  # noqa: S101  # what Bucket is made of
        resource.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            queue_configurations=[
                _event("s3:ObjectCreated:*", queue_arn=self.content.queue.queue_arn),
                _event("s3:ObjectRemoved:*", queue_arn=self.urgent.queue.queue_arn),
            ]
        )
        # S3 sends a test message to each queue when the bucket is made, so the policies come first.
        self.bucket.node.add_dependency(self.urgent, self.content)


def _event(name: str, *, queue_arn: str) -> s3.CfnBucket.QueueConfigurationProperty:
    below = s3.CfnBucket.S3KeyFilterProperty(
        rules=[s3.CfnBucket.FilterRuleProperty(name="prefix", value=_PREFIX)]
    )
    return s3.CfnBucket.QueueConfigurationProperty(
        event=name, queue=queue_arn, filter=s3.CfnBucket.NotificationFilterProperty(s3_key=below)
    )


def _lifecycle() -> list[s3.LifecycleRule]:
    """An artifact goes with its conversation, which may live on: the sweep removes it, and no rule here."""
    return [
        s3.LifecycleRule(
            abort_incomplete_multipart_upload_after=Duration.days(2),
            noncurrent_version_expiration=Duration.days(30),
            expired_object_delete_marker=True,
        ),
        s3.LifecycleRule(prefix=_EXPORTS, expiration=Duration.days(EXPORT_DAYS)),
    ]


def _cors(config: StageConfig) -> list[s3.CorsRule] | None:
    if not config.allowed_origins:
        return None
    return [
        s3.CorsRule(
            allowed_methods=[s3.HttpMethods.PUT],
            allowed_origins=list(config.allowed_origins),
            allowed_headers=["content-type", "x-amz-*"],
            max_age=3600,
        )
    ]

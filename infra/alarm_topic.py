"""A topic that alarms, and nobody else, may publish to."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

_ALARMS = "cloudwatch.amazonaws.com"


class AlarmTopic(Construct):
    """TLS only; a policy of its own replaces the one by which alarms may publish, so that is said again."""

    def __init__(
        self, scope: Construct, id: str, *, key: kms.IKey | None = None, name: str | None = None
    ) -> None:
        super().__init__(scope, id)
        self.topic = sns.Topic(self, "Topic", master_key=key, topic_name=name, enforce_ssl=True)
        self.topic.add_to_resource_policy(self._allow("sns:Publish", resource=self.topic.topic_arn))
        if key:
            key.add_to_resource_policy(self._allow("kms:Decrypt", "kms:GenerateDataKey*", resource="*"))

    def _allow(self, *actions: str, resource: str) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            principals=[iam.ServicePrincipal(_ALARMS)],
            actions=list(actions),
            resources=[resource],
            conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
        )

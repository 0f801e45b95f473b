"""One customer-managed key for everything at rest."""

from typing import Literal

from aws_cdk import ArnFormat, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct


class StageKey(Construct):
    """The stage's key; two AWS services may use it, and only for this account's logs and bucket events."""

    def __init__(self, scope: Construct, id: str, *, removal: RemovalPolicy) -> None:
        super().__init__(scope, id)
        self.key = kms.Key(self, "Key", enable_key_rotation=True, removal_policy=removal)
        stack = Stack.of(self)
        self._allow(
            f"logs.{stack.region}.amazonaws.com",
            actions=[
                "kms:Encrypt",
                "kms:Decrypt",
                "kms:ReEncrypt*",
                "kms:GenerateDataKey*",
                "kms:DescribeKey",
            ],
            conditions={
                "ArnLike": {
                    "kms:EncryptionContext:aws:logs:arn": stack.format_arn(
                        service="logs",
                        resource="log-group",
                        resource_name="*",
                        arn_format=ArnFormat.COLON_RESOURCE_NAME,
                    )
                }
            },
        )
        self._allow(
            "s3.amazonaws.com",
            actions=["kms:Decrypt", "kms:GenerateDataKey"],
            conditions={"StringEquals": {"aws:SourceAccount": stack.account}},
        )

    def _allow(self, service: str, *, actions: list[str], conditions: dict[str, dict[str, str]]) -> None:
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal(service)],
                actions=actions,
                resources=["*"],
                conditions=conditions,
            )
        )


def grant_key(
    grantee: iam.IGrantable,
    key: kms.IKey,
    *actions: str,
    via: Literal["dynamodb", "s3", "secretsmanager", "sqs"],
) -> None:
    """Use the key through one AWS service, and never directly."""
    service = f"{via}.{Stack.of(key).region}.amazonaws.com"
    grantee.grant_principal.add_to_principal_policy(
        iam.PolicyStatement(
            actions=[f"kms:{action}" for action in actions],
            resources=[key.key_arn],
            conditions={"StringEquals": {"kms:ViaService": service}},
        )
    )

"""The product's entitlements: another stack's table, of which two kinds of items are read."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from infra.config import StageConfig

PREFIXES = ("ORG#*", "LINK#*")


def grant_entitlements(function: lambda_.Function, config: StageConfig) -> None:
    """Read entitlements of organisations and links, where billing is enforced; otherwise nothing."""
    if config.billing is None:
        return
    table = Stack.of(function).format_arn(
        service="dynamodb", resource="table", resource_name=config.billing.entitlements_table
    )
    function.add_to_role_policy(
        iam.PolicyStatement(
            actions=["dynamodb:GetItem"],
            resources=[table],
            conditions={"ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(PREFIXES)}},
        )
    )

"""The model provider's key."""

from aws_cdk import aws_iam as iam

from infra.config import StageConfig


def grant_model_key(grantee: iam.IGrantable, config: StageConfig) -> None:
    """Read the provider's key, where one is configured."""
    if config.model.secret_arn:
        iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["secretsmanager:GetSecretValue"],
            resource_arns=[config.model.secret_arn],
        )

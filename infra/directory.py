"""The product's directory of projects: where it is, and what it is asked with."""

from typing import Any

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from infra.config import StageConfig


def directory_variables(config: StageConfig) -> dict[str, Any]:
    """Return the settings of a function that serves people."""
    return {"directory_url": config.directory.url, "directory_secret_arn": config.directory.secret_arn}


def grant_directory(function: lambda_.Function, config: StageConfig) -> None:
    """Read the secret that the directory is asked with, where the stage names one."""
    if config.directory.secret_arn is None:
        return
    function.add_to_role_policy(
        iam.PolicyStatement(
            actions=["secretsmanager:GetSecretValue"], resources=[config.directory.secret_arn]
        )
    )

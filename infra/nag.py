"""Acknowledging a cdk-nag finding: one construct, one finding, one written reason."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import Acknowledgment, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import IConstruct


def acknowledge(construct: IConstruct, finding: str, *, reason: str) -> None:
    """Accept `finding`, such as AwsSolutions-IAM5[Resource::*], on this construct and below, and say why."""
    Validations.of(construct).acknowledge(Acknowledgment(id=finding, reason=reason))


def grant_below(grantee: iam.IGrantable, *actions: str, pattern: str, reason: str) -> None:
    """Grant actions on a resource pattern that ends in *, and say why it must."""
    iam.Grant.add_to_principal(grantee=grantee, actions=list(actions), resource_arns=[pattern])
    principal = grantee.grant_principal
    assert isinstance(principal, iam.Role)  # noqa: S101  # every grantee here is a function with its role
    shown = _as_reported(Stack.of(principal).resolve(pattern))
    acknowledge(principal, f"AwsSolutions-IAM5[Resource::{shown}]", reason=reason)


def _as_reported(resolved: Any) -> str:
    """An ARN as cdk-nag writes it: references in angle brackets."""
    if isinstance(resolved, str):
        return resolved
    assert isinstance(resolved, Mapping)  # noqa: S101  # an intrinsic function
    if "Fn::Join" in resolved:
        return "".join(_as_reported(part) for part in resolved["Fn::Join"][1])
    if "Fn::GetAtt" in resolved:
        return f"<{'.'.join(resolved['Fn::GetAtt'])}>"
    return f"<{resolved['Ref']}>"

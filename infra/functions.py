"""A Python function: every one of them is made here, and so logs, traces and expires in the same way."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from aws_cdk import Duration, IgnoreMode, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct
from equerry.runtime.environment import Environment

from infra.config import StageConfig
from infra.layers import Layers
from infra.log_groups import expiring_log_group
from infra.nag import acknowledge
from infra.target import architecture_of, runtime_of

LIVE = "live"
_FUNCTIONS = Path(__file__).parents[1] / "functions"
_NETWORK_INTERFACES = (
    "ec2:CreateNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:DeleteNetworkInterface",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where functions that reach the database run."""

    vpc: ec2.IVpc
    subnets: ec2.SubnetSelection
    security_group: ec2.ISecurityGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What all functions of a stage have in common; `placement` is None where there is no VPC."""

    config: StageConfig
    layers: Layers
    key: kms.IKey
    placement: Placement | None


class PythonFunction(Construct):
    """One handler under functions/, on the stage's runtime.

    With `wrapper` its folder's script of that name starts it; with `beside` it has that function's role.

    What calls it calls `live`, an alias of the version that was deployed last; older versions stay, so that a
    release is taken back by moving the alias.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        platform: Platform,
        handler: str,
        settings: Environment,
        memory_mib: int,
        timeout_s: int,
        extra_layers: Sequence[lambda_.ILayerVersion] = (),
        reserved_concurrency: int | None = None,
        reaches_database: bool = True,
        wrapper: str | None = None,
        beside: "PythonFunction | None" = None,
    ) -> None:
        super().__init__(scope, id)
        self.log_group = expiring_log_group(self, "Logs", key=platform.key, config=platform.config)
        placement = platform.placement if reaches_database else None
        self.role: iam.Role = self._role(placement, beside)
        self.function = lambda_.Function(
            self,
            "Function",
            code=_code(handler.split(".", maxsplit=1)[0]),
            handler=handler,
            runtime=runtime_of(platform.config),
            architecture=architecture_of(platform.config),
            layers=[*platform.layers.base, *extra_layers],
            environment={**settings.to_env(), **_started_by(wrapper)},
            memory_size=memory_mib,
            timeout=Duration.seconds(timeout_s),
            reserved_concurrent_executions=(
                reserved_concurrency if platform.config.limits.reserve_concurrency else None
            ),
            tracing=lambda_.Tracing.ACTIVE,
            logging_format=lambda_.LoggingFormat.JSON,
            log_group=self.log_group,
            role=self.role,
            vpc=placement.vpc if placement else None,
            vpc_subnets=placement.subnets if placement else None,
            security_groups=[placement.security_group] if placement else None,
            current_version_options=lambda_.VersionOptions(removal_policy=RemovalPolicy.RETAIN),
        )
        acknowledge(
            self,
            "AwsSolutions-IAM5[Resource::*]",
            reason="X-Ray's two Put actions and Lambda's own network interfaces take no resource",
        )

        acknowledge(
            self,
            "AwsSolutions-L1",
            reason="The configuration chooses the runtime, together with the wheels and .pyc files it needs",
        )

    @cached_property
    def live(self) -> lambda_.Alias:
        """The alias by which everything calls this function."""
        return self.function.add_alias(LIVE)

    def _role(self, placement: Placement | None, beside: "PythonFunction | None") -> iam.Role:
        served = iam.ServicePrincipal("lambda.amazonaws.com")
        role = beside.role if beside else iam.Role(self, "Role", assumed_by=served)
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                resources=[self.log_group.log_group_arn],
            )
        )
        if placement:
            role.add_to_policy(iam.PolicyStatement(actions=list(_NETWORK_INTERFACES), resources=["*"]))
        return role


def _started_by(wrapper: str | None) -> dict[str, str]:
    return {"AWS_LAMBDA_EXEC_WRAPPER": f"/var/task/{wrapper}"} if wrapper else {}


def _code(folder: str) -> lambda_.Code:
    return lambda_.Code.from_asset(
        str(_FUNCTIONS), ignore_mode=IgnoreMode.GIT, exclude=["/*", f"!/{folder}", "__pycache__", "*.pyc"]
    )

"""What other stacks and people look up, under /equerry/<stage>/."""

from collections.abc import Iterable, Mapping
from typing import Any

from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct
from equerry.adapters.aws.switches import LEVELS
from equerry.domain.switches import NOTHING_OFF, NamedLevel

from infra.config import StageConfig


class Parameters(Construct):
    """Plain strings; nothing secret is ever one of them."""

    def __init__(
        self, scope: Construct, id: str, *, config: StageConfig, published: Mapping[str, str]
    ) -> None:
        super().__init__(scope, id)
        chosen = {
            "model-provider": config.model.provider,
            "model-id": config.model.id or "none",
            "retrieval-backend": config.retrieval_backend,
        }
        for name, text in {**chosen, **published}.items():
            ssm.StringParameter(
                self, name, parameter_name=f"/equerry/{config.stage}/{name}", string_value=text
            )


class Switches(Construct):
    """What an operator changes without a deployment, which leaves the values as they are.

    The ladder of intervention, one parameter a level, and the override of a turn's limits.
    """

    def __init__(self, scope: Construct, id: str, *, config: StageConfig) -> None:
        super().__init__(scope, id)
        base = f"/equerry/{config.stage}"
        enabled = ssm.StringParameter(
            self,
            "Parameter",
            parameter_name=f"{base}/assistant-enabled",
            string_value="true",
            allowed_pattern="true|false",
            description='"false" stops new turns within 30 seconds; "true" lets them begin again',
        )
        self.prefix = f"{base}/off"
        self._levels = [self._level(level, f"{self.prefix}/{level}") for level in LEVELS]
        limits = ssm.StringParameter(
            self,
            "Limits",
            parameter_name=f"{base}/turn-limits",
            string_value="{}",
            description="A JSON object of limits that the stage does not state; read when a function starts",
        )
        self._parameters = (enabled, *self._levels, limits)
        self.variables: dict[str, Any] = {
            "assistant_enabled_ssm_parameter": enabled.parameter_name,
            "assistant_off_ssm_prefix": self.prefix,
            "turn_limits_ssm_parameter": limits.parameter_name,
        }

    def grant_read(self, grantee: iam.IGrantable) -> None:
        """Read each, alone and in a batch."""
        _grant(grantee, self._parameters)

    def grant_read_levels(self, grantee: iam.IGrantable) -> None:
        """Read what is off below the platform: what is no turn is not stopped with turns."""
        _grant(grantee, self._levels)

    def _level(self, level: NamedLevel, name: str) -> ssm.StringParameter:
        return ssm.StringParameter(
            self,
            f"Off{level.capitalize()}",
            parameter_name=name,
            string_value=NOTHING_OFF,
            description=f"What is off on the level {level}: names with commas between them, or {NOTHING_OFF}",
        )


def _grant(grantee: iam.IGrantable, parameters: Iterable[ssm.StringParameter]) -> None:
    iam.Grant.add_to_principal(
        grantee=grantee,
        actions=["ssm:GetParameter", "ssm:GetParameters"],
        resource_arns=[parameter.parameter_arn for parameter in parameters],
    )

"""What other stacks and people look up, under /equerry/<stage>/."""

from collections.abc import Mapping

from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct

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


class AssistantSwitch(Construct):
    """Stops new turns within 30 s when its value is set to "false"; a deployment leaves that as it is."""

    def __init__(self, scope: Construct, id: str, *, config: StageConfig) -> None:
        super().__init__(scope, id)
        self._parameter = ssm.StringParameter(
            self,
            "Parameter",
            parameter_name=f"/equerry/{config.stage}/assistant-enabled",
            string_value="true",
            allowed_pattern="true|false",
            description='"false" stops new turns within 30 seconds; "true" lets them begin again',
        )
        self.name = self._parameter.parameter_name

    def grant_read(self, grantee: iam.IGrantable) -> None:
        """Read the switch, alone and in a batch."""
        iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:GetParameter", "ssm:GetParameters"],
            resource_arns=[self._parameter.parameter_arn],
        )

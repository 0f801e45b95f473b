"""What other stacks and people look up, under /equerry/<stage>/."""

from collections.abc import Mapping

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
